"""Send garbage after the result, in the same breath."""

# stopped: violation frame_too_large

liar.raw(liar.result(1) + b"\xff" * 64)
