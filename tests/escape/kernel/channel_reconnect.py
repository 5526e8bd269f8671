"""Connect the channel's socket to somebody else. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("connect", 0, b"\1\0\0escape", 9) == 0
