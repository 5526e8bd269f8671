"""Report an error whose details are no data."""

# stopped: violation not_json_like

report = {"type": "E", "code": "execution_error", "message": "x", "details": {"a": b"\0"}}
liar.raw(frame(encoder.encode({"type": "result", **liar.stamp(), "error": report})))
