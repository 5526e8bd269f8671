"""Start a process with vfork. Seccomp kills it."""

# stopped: killed
# alone: seccomp
# only: x86_64

raw("vfork") > 0
