"""Announce a frame within the length of another."""

# stopped: violation frame_too_large

data = liar.touch()
liar.raw(data[:2] + data)
