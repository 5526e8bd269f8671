"""Ask for the process number through x32, where even the allowed is foreign. Seccomp kills it."""

# stopped: killed
# alone: seccomp
# only: x86_64

raw(0x40000000 | 39) > 0
