"""Make a file in memory that not even the kernel sees. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("memfd_secret", 0) >= 0
