"""Ask the channel who is at its other end. Seccomp refuses it."""

# stopped: refused
# alone: seccomp

raw("getpeername", 0, ctypes.create_string_buffer(110), ctypes.byref(ctypes.c_int(110))) == 0
