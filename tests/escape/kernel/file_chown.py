"""Give the root to oneself. Seccomp refuses it."""

# stopped: refused

os.chown("/", os.getuid(), os.getgid())
"changed"
