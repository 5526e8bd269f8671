"""Ask with a payload deep enough to overflow the stack of the decoder."""

# stopped: violation garbage

body = encoder.encode(worker.touch_as_data())
worker.raw(frame(body[:-1] + b"\x81\xa1a" + b"\x91" * 50_000))
