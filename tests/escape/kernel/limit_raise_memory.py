"""Raise the limit of memory again. Hard limits can only be lowered without a capability."""

# stopped: refused
# alone: identity

raw("prlimit64", 0, 9, (ctypes.c_uint64 * 2)(1 << 40, 1 << 40), None) == 0
