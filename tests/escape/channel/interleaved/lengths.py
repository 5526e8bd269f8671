"""Announce a frame within the length of another."""

# stopped: violation frame_too_large

data = worker.touch()
worker.raw(data[:2] + data)
