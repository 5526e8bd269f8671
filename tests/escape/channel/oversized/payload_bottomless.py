"""Ask with a payload deep enough to overflow the stack of whoever decodes it."""

# stopped: violation garbage

body = encoder.encode(liar.touch_as_data())
liar.raw(frame(body[:-1] + b"\x81\xa1a" + b"\x91" * 50_000))
