"""Enter an io_uring. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("io_uring_enter", 0, 0, 0, 0, None, 0) >= 0
