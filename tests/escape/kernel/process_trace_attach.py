"""Attach to the zygote as a debugger. Seccomp kills it; the zygote is not to be traced."""

# stopped: killed
# alone: seccomp
# unsafe without namespaces: process 1 is then the machine's own

raw("ptrace", 0x4206, 1, 0, 0) == 0
