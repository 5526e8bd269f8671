"""Read the thread's base register with arch_prctl. Seccomp refuses it."""

# stopped: refused
# alone: seccomp
# control: works
# only: x86_64

raw("arch_prctl", 0x1003, ctypes.byref(ctypes.c_ulong())) == 0
