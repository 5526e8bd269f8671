"""Make a directory. Seccomp refuses it; the root is read-only besides."""

# stopped: refused
# control: works

os.mkdir("escaped")
"made"
