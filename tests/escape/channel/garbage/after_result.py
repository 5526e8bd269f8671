"""Send garbage after the result, in the same write."""

# stopped: violation frame_too_large

worker.raw(worker.result(1) + b"\xff" * 64)
