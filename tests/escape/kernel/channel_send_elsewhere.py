"""Send from the channel's socket to another address. Seccomp refuses sendto."""

# stopped: refused
# alone: seccomp

address = b"\1\0\0escape"
raw("sendto", 0, b"x", 1, 0x40, address, len(address)) == 1
