"""Raise a limit with the old setrlimit, which the C library never makes. Seccomp refuses it."""

# stopped: refused
# alone: identity
# only: x86_64

raw("setrlimit", 9, (ctypes.c_uint64 * 2)(1 << 40, 1 << 40)) == 0
