"""Send a signal with tgkill. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("tgkill", 1, 1, 0) == 0
