"""Go through the root of process 1. Seccomp refuses it; there is no /proc."""

# stopped: refused

os.listdir("/proc/1/root/")
