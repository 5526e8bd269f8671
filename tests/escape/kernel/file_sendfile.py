"""Copy out of a file with sendfile. Seccomp refuses it."""

# stopped: refused
# alone: seccomp

os.sendfile(0, 0, None, 16)
"sent"
