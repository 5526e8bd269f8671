"""Send a frame of garbage after the result, in the same breath."""

# stopped: violation garbage

liar.raw(liar.result(1) + frame(b"\xc1"))
