"""Send a frame of nothing."""

# stopped: violation garbage

worker.raw(frame(b""))
