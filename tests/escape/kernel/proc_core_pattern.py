"""Have the kernel start a program of ours as root at the next crash. Seccomp refuses to open."""

# stopped: refused
# alone: none

open("/proc/sys/kernel/core_pattern", "r+").read()
