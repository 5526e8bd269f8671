"""Ignore the signal of the processor limit. Seccomp refuses to change what a signal does."""

# stopped: refused
# alone: seccomp

import signal

signal.signal(signal.SIGXCPU, signal.SIG_IGN)
"ignored"
