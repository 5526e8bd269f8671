"""Get a new descriptor from signalfd. Seccomp refuses it; RLIMIT_NOFILE is 1."""

# stopped: refused
# alone: seccomp rlimits
# control: works

raw("signalfd4", -1, ctypes.byref(ctypes.c_uint64()), 8, 0) >= 0
