"""Get a descriptor of a process. Seccomp kills it."""

# stopped: killed
# alone: seccomp rlimits
# control: works

os.pidfd_open(os.getpid()) >= 0
