"""Send a message without a type."""

# stopped: violation malformed

worker.raw(frame(encoder.encode({})))
