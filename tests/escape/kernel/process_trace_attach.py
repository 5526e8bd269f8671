"""Attach to the zygote as a debugger. Seccomp kills it."""

# stopped: killed

raw("ptrace", 16, 1, 0, 0) == 0
