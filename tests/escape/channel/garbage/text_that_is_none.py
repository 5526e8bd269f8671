"""Print bytes that are not valid text."""

# stopped: violation garbage

body = encoder.encode({"type": "output", **worker.stamp(), "text": "printed"})
worker.raw(frame(body.replace(b"printed", b"\xff\xfe\xfd\xfc\xfb\xfa\xf9")))
