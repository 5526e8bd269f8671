"""Give the root to itself. Seccomp refuses it; the mount is read-only."""

# stopped: refused
# alone: none
# unsafe without root: it is then the machine's own, and some user's

os.chown("/", os.getuid(), os.getgid())
"changed"
