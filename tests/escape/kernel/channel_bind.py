"""Give the channel's socket a name. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("bind", 0, b"\1\0\0escape", 9) == 0
