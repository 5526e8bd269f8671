"""Find the environment where the C library keeps it, past what Python shows."""

# stopped: harmless
# alone: none
# control: works

listed = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ")
names, position = [], 0
while listed and listed[position]:
    names.append(listed[position].split(b"=")[0].decode())
    position += 1
[name for name in names if name != "LC_CTYPE"]
