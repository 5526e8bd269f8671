"""Open a device. Seccomp refuses it; there is no /dev."""

# stopped: refused
# alone: root landlock seccomp rlimits
# control: works

os.open("/dev/null", os.O_RDWR) >= 0
