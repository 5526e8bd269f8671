"""Send a message whose type is a number."""

# stopped: violation malformed

liar.send_data(type=3)
