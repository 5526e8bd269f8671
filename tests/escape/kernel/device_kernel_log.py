"""Open the kernel's log. Seccomp refuses it; there is no /dev."""

# stopped: refused
# alone: none

os.open("/dev/kmsg", os.O_RDWR) >= 0
