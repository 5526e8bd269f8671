"""Name two types in one message: whoever reads it twice may see both."""

# stopped: violation malformed

body = encoder.encode(liar.touch_as_data())
liar.raw(frame(bytes([body[0] + 1]) + body[1:] + encoder.encode("type") + encoder.encode("output")))
