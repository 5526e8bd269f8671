"""Read /etc/passwd with a bare openat, past the C library. Seccomp refuses it."""

# stopped: refused
# control: works

raw("openat", -100, b"/etc/passwd", os.O_RDONLY) >= 0
