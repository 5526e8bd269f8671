"""Open the memory of the zygote. Seccomp refuses it; there is no /proc."""

# stopped: refused
# alone: none

os.open("/proc/1/mem", os.O_RDWR) >= 0
