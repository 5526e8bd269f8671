"""Boot another kernel. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("kexec_load", 0, 0, None, 0) == 0
