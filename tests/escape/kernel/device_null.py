"""Open a device. Seccomp refuses it; there is no /dev."""

# stopped: refused
# control: works

os.open("/dev/null", os.O_RDWR) >= 0
