"""Copy the descriptor with fcntl. Seccomp refuses it."""

# stopped: refused
# alone: seccomp rlimits
# control: works

import fcntl

fcntl.fcntl(0, fcntl.F_DUPFD, 10)
