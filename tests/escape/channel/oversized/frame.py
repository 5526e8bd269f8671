"""Announce a frame of two gigabytes."""

# stopped: violation frame_too_large

worker.raw((1 << 31).to_bytes(4, "big"))
