"""Have the kernel write accounts to a file of our own. Seccomp kills it."""

# stopped: killed
# alone: identity seccomp

raw("acct", b"") == 0
