"""Accept a connection. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("accept4", 0, None, None, 0) >= 0
