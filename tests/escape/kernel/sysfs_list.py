"""Look at the hardware in /sys. Seccomp refuses it; there is no /sys."""

# stopped: refused
# alone: root landlock seccomp rlimits
# control: works

os.listdir("/sys")
