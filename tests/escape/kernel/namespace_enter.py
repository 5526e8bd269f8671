"""Enter another namespace. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("setns", 0, 0) == 0
