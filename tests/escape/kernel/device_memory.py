"""Open the memory of the machine. Seccomp refuses it; there is no /dev."""

# stopped: refused
# alone: seccomp

os.open("/dev/mem", os.O_RDWR) >= 0
