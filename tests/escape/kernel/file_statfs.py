"""Ask what file system the root is on. Seccomp refuses it."""

# stopped: refused
# alone: seccomp
# control: works

os.statvfs("/").f_bsize
