"""Announce a frame that is a byte too large."""

# stopped: violation frame_too_large

liar.raw((16 * 1024 * 1024 + 1).to_bytes(4, "big"))
