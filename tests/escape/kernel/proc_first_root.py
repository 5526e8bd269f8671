"""Go through the root of process 1. Seccomp refuses it; there is no /proc."""

# stopped: refused
# alone: none

os.listdir("/proc/1/root/")
