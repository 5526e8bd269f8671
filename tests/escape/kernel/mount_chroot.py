"""Leave by the old chroot trick. Seccomp kills it."""

# stopped: killed
# alone: identity privileges seccomp

os.chroot("/")
"changed"
