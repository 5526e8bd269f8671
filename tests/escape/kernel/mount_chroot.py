"""Leave by the old chroot trick. Seccomp kills it."""

# stopped: killed

os.chroot("/")
"changed"
