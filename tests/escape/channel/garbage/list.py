"""Send a message that is a list."""

# stopped: violation malformed

liar.raw(frame(encoder.encode([liar.touch_as_data()])))
