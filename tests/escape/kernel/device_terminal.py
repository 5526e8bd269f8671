"""Take a terminal. Seccomp refuses to open one."""

# stopped: refused

os.openpty()
