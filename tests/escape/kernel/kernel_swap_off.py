"""Take the machine's swap away. Seccomp kills it."""

# stopped: killed
# alone: identity seccomp

raw("swapoff", b"") == 0
