"""Take a descriptor out of another process. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("pidfd_getfd", 0, 0, 0) >= 0
