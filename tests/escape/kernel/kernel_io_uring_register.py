"""Register with an io_uring. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("io_uring_register", 0, 0, None, 0) >= 0
