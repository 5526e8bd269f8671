"""Make a POSIX timer, which no limit counts. Seccomp refuses it."""

# stopped: refused
# alone: seccomp
# control: works

raw("timer_create", 1, None, ctypes.byref(ctypes.c_int())) == 0
