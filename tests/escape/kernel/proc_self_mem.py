"""Open its own memory as a file, to write where the page tables forbid it. Seccomp refuses it."""

# stopped: refused
# alone: root privileges rlimits
# control: works

os.open("/proc/self/mem", os.O_RDWR) >= 0
