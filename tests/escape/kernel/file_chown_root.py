"""Give the root to oneself. Seccomp refuses it; the mount is read-only."""

# stopped: refused
# alone: identity

os.chown("/", os.getuid(), os.getgid())
"changed"
