"""Do file work with the old asynchronous interface. Seccomp refuses it."""

# stopped: refused
# alone: seccomp

raw("io_setup", 1, ctypes.byref(ctypes.c_ulong())) == 0
