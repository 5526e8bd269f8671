"""Announce a frame within the length of another."""

# stopped: violation garbage

data = liar.touch()
liar.raw(data[:2] + data)
