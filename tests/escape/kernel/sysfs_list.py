"""Look at the hardware in /sys. Seccomp refuses it; there is no /sys."""

# stopped: refused
# control: works

os.listdir("/sys")
