"""Take priority over others. Seccomp refuses it."""

# stopped: refused
# alone: seccomp

os.setpriority(os.PRIO_PROCESS, 0, 0)
"changed"
