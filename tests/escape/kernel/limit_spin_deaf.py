"""Block every signal and compute for ever. The hard RLIMIT_CPU kills, which nobody can block."""

# stopped: limited
# alone: none

import signal

signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
while True:
    pass
