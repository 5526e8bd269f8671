"""Give the result in the midst of a request."""

# stopped: violation frame_too_large

data = liar.touch()
liar.raw(data[:20] + liar.result(1) + data[20:])
