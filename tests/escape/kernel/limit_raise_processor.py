"""Raise the limit of processor time again. Hard limits can only be lowered without a capability."""

# stopped: refused
# alone: identity

raw("prlimit64", 0, 0, (ctypes.c_uint64 * 2)(1 << 20, 1 << 20), None) == 0
