"""Take the machine's swap away. Seccomp kills it."""

# stopped: killed

raw("swapoff", b"") == 0
