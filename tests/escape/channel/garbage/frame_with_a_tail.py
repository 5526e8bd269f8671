"""Send a frame that holds more than its message."""

# stopped: violation garbage

liar.raw(frame(liar.touch()[4:] + b"\xc0"))
