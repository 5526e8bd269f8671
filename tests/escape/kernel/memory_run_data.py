"""Jump to machine code in ordinary memory. It is not executable; the process is killed."""

# stopped: lost
# alone: none
# only: x86_64

code = ctypes.create_string_buffer(b"\xb8\x2a\x00\x00\x00\xc3")
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(code))()
