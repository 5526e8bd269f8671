"""Open with the old open call, which newer C libraries never make. Seccomp refuses it."""

# stopped: refused
# alone: root landlock seccomp rlimits
# control: works
# only: x86_64

raw("open", b"/etc/passwd", os.O_RDONLY) >= 0
