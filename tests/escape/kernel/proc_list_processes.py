"""List the processes of the machine. Seccomp refuses it; there is no /proc."""

# stopped: refused
# alone: root landlock seccomp rlimits
# control: works

[name for name in os.listdir("/proc") if name.isdigit()]
