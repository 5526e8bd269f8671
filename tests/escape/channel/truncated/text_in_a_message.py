"""Announce a text that is longer than its message."""

# stopped: violation garbage

body = encoder.encode({"type": "output", **liar.stamp(), "text": "x" * 40})
liar.raw(frame(body.replace(b"\xd9\x28", b"\xd9\xff")))
