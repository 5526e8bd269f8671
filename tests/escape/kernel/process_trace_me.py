"""Offer itself to the parent as its debuggee. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("ptrace", 0, 0, 0, 0) == 0
