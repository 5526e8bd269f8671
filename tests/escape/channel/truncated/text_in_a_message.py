"""Announce a string that is longer than its message."""

# stopped: violation garbage

body = encoder.encode({"type": "output", **worker.stamp(), "text": "x" * 40})
worker.raw(frame(body.replace(b"\xd9\x28", b"\xd9\xff")))
