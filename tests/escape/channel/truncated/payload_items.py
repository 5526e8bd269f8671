"""Ask with a payload that claims four billion items and holds none."""

# stopped: violation garbage

body = encoder.encode(worker.touch_as_data())
assert body.endswith(b"\x80")
worker.raw(frame(body[:-1] + b"\xdf\xff\xff\xff\xff"))
