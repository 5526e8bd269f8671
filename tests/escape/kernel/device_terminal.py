"""Take a terminal. Seccomp refuses to open one."""

# stopped: refused
# alone: root landlock seccomp rlimits

os.openpty()
