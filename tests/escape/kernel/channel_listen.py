"""Make a server of the channel's socket. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("listen", 0, 1) == 0
