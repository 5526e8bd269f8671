"""Send a message that is a list."""

# stopped: violation malformed

worker.raw(frame(encoder.encode([worker.touch_as_data()])))
