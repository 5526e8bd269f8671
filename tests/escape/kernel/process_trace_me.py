"""Offer oneself to the parent as its debuggee. Seccomp kills it."""

# stopped: killed

raw("ptrace", 0, 0, 0, 0) == 0
