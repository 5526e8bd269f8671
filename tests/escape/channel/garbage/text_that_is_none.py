"""Print what is no text."""

# stopped: violation garbage

body = encoder.encode({"type": "output", **liar.stamp(), "text": "printed"})
liar.raw(frame(body.replace(b"printed", b"\xff\xfe\xfd\xfc\xfb\xfa\xf9")))
