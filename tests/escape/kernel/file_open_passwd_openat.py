"""Read /etc/passwd with a bare openat, past the C library. Seccomp refuses it."""

# stopped: refused
# alone: root landlock seccomp rlimits
# control: works

raw("openat", -100, b"/etc/passwd", os.O_RDONLY) >= 0
