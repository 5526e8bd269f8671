"""Accept a connection. Seccomp kills it."""

# stopped: killed

raw("accept4", 0, None, None, 0) >= 0
