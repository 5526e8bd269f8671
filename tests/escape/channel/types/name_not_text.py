"""Ask for a capability whose name is no text."""

# stopped: violation garbage

body = encoder.encode(liar.touch_as_data())
liar.raw(frame(body.replace(b"probe.touch", b"probe.\xff\xfe\xfd\xfc\xfb")))
