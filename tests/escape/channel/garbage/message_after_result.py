"""Send a frame of garbage after the result, in the same write."""

# stopped: violation garbage

worker.raw(worker.result(1) + frame(b"\xc1"))
