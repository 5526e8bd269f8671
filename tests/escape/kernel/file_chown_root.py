"""Give the root to oneself. Seccomp refuses it; the mount is read-only."""

# stopped: refused
# alone: none
# unsafe without root: it is then the machine's own, and some user's

os.chown("/", os.getuid(), os.getgid())
"changed"
