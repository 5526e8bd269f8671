"""Send a frame of bytes that mean nothing."""

# stopped: violation garbage

worker.raw(frame(b"\xc1" * 100))
