"""Copy out of a file with sendfile. Seccomp refuses it."""

# stopped: refused

os.sendfile(0, 0, None, 16)
"sent"
