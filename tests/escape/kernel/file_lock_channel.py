"""Lock what the host holds too. Seccomp refuses it."""

# stopped: refused

import fcntl

fcntl.flock(0, fcntl.LOCK_EX)
"locked"
