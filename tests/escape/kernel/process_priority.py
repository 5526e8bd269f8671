"""Take priority over others. Seccomp refuses it."""

# stopped: refused

os.setpriority(os.PRIO_PROCESS, 0, 0)
"changed"
