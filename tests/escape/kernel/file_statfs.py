"""Ask what file system the root is on. Seccomp refuses it."""

# stopped: refused
# control: works

os.statvfs("/").f_bsize
