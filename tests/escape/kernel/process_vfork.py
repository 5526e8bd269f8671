"""Start a process with vfork. Seccomp kills it."""

# stopped: killed
# only: x86_64

raw("vfork") > 0
