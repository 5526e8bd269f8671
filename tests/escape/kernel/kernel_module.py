"""Load a kernel module. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("init_module", None, 0, b"") == 0
