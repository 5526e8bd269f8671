"""List its own descriptors, to find one left open. Seccomp refuses it; there is no /proc."""

# stopped: refused
# alone: root landlock seccomp rlimits
# control: works

os.listdir("/proc/self/fd")
