"""Ask for a capability whose name is not a string."""

# stopped: violation garbage

body = encoder.encode(worker.touch_as_data())
worker.raw(frame(body.replace(b"probe.touch", b"probe.\xff\xfe\xfd\xfc\xfb")))
