"""Take every capability. Seccomp kills it; the bounding set is empty."""

# stopped: killed
# alone: identity privileges seccomp

header = (ctypes.c_uint32 * 2)(0x20080522, 0)
raw("capset", header, (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)) == 0
