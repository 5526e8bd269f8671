"""Announce a frame that is a byte too large."""

# stopped: violation frame_too_large

worker.raw((8 * 1024 * 1024 + 64 * 1024 + 1).to_bytes(4, "big"))
