"""Type into the terminal of the user who started the host. Seccomp refuses every ioctl."""

# stopped: refused
# alone: seccomp

import fcntl

fcntl.ioctl(0, 0x5412, b"x")
"typed"
