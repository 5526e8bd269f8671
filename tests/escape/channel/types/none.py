"""Send a message without a type."""

# stopped: violation malformed

liar.raw(frame(encoder.encode({})))
