"""Send a frame that holds more than its message."""

# stopped: violation garbage

worker.raw(frame(worker.touch()[4:] + b"\xc0"))
