"""Raise the limit of descriptors again. Seccomp refuses to set it; the hard limit also holds."""

# stopped: refused
# alone: seccomp rlimits

raw("prlimit64", 0, 7, (ctypes.c_uint64 * 2)(64, 64), None) == 0
