"""Lock what the host holds too. Seccomp refuses it."""

# stopped: refused
# alone: seccomp

import fcntl

fcntl.flock(0, fcntl.LOCK_EX)
"locked"
