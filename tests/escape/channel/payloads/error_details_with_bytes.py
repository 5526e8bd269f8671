"""Report an error whose details are not plain data."""

# stopped: violation not_json_like

report = {"type": "E", "code": "execution_error", "message": "x", "details": {"a": b"\0"}}
worker.raw(frame(encoder.encode({"type": "result", **worker.stamp(), "error": report})))
