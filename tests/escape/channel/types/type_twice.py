"""Name two types in one message: a reader that decodes it twice may see both."""

# stopped: violation malformed

body = encoder.encode(worker.touch_as_data())
worker.raw(
    frame(bytes([body[0] + 1]) + body[1:] + encoder.encode("type") + encoder.encode("output"))
)
