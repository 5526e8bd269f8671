"""Do everything through io_uring, which seccomp does not see. Seccomp kills its set-up."""

# stopped: killed
# alone: seccomp

raw("io_uring_setup", 4, ctypes.create_string_buffer(120)) >= 0
