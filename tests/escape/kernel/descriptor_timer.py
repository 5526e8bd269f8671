"""Get a new descriptor from timerfd. Seccomp refuses it; RLIMIT_NOFILE is 1."""

# stopped: refused
# alone: seccomp rlimits
# control: works

raw("timerfd_create", 1, 0) >= 0
