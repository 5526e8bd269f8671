"""Raise the privilege for the hardware's ports. Seccomp kills it."""

# stopped: killed
# alone: seccomp
# only: x86_64

raw("iopl", 3) == 0
