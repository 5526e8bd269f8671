"""Send a frame of nothing."""

# stopped: violation garbage

liar.raw(frame(b""))
