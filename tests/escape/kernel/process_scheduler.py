"""Become a real-time process. Seccomp refuses it."""

# stopped: refused
# alone: none

raw("sched_setscheduler", 0, 1, ctypes.byref(ctypes.c_int(1))) == 0
