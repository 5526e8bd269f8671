"""Load a kernel module from a descriptor. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("finit_module", 0, b"", 0) == 0
