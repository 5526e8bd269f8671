"""Report an error with very many lines."""

# stopped: violation too_many_items

frames = [{"line": 1, "function": "f", "source": "x"}] * 100_000
error = {"type": "E", "code": "execution_error", "message": "x", "frames": frames}
worker.raw(frame(encoder.encode({"type": "result", **worker.stamp(), "error": error})))
