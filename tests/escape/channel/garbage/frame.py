"""Send a frame of bytes that mean nothing."""

# stopped: violation garbage

liar.raw(frame(b"\xc1" * 100))
