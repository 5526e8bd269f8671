"""Make a file in memory that not even the kernel sees. Seccomp kills it."""

# stopped: killed

raw("memfd_secret", 0) >= 0
