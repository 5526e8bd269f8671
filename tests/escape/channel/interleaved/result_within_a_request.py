"""Give the result in the middle of a request."""

# stopped: violation frame_too_large

data = worker.touch()
worker.raw(data[:20] + worker.result(1) + data[20:])
