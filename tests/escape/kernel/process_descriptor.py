"""Get a descriptor of a process. Seccomp kills it."""

# stopped: killed
# control: works

os.pidfd_open(os.getpid()) >= 0
