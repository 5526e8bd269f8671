"""Have the kernel write accounts to a file of our own. Seccomp kills it."""

# stopped: killed

raw("acct", b"") == 0
