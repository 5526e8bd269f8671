"""Change the limits of the zygote. Seccomp allows prlimit64 for itself alone."""

# stopped: refused
# alone: none

import resource

resource.prlimit(1, resource.RLIMIT_NOFILE)
