"""Get a new descriptor from epoll. Seccomp refuses it; RLIMIT_NOFILE is 1."""

# stopped: refused
# alone: seccomp rlimits
# control: works

import select

select.epoll().fileno() >= 0
