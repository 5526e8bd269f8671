"""Get a new descriptor from eventfd. Seccomp refuses it; RLIMIT_NOFILE is 1."""

# stopped: refused
# alone: seccomp rlimits
# control: works

os.eventfd(0) >= 0
