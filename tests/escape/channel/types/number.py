"""Send a message whose type is a number."""

# stopped: violation malformed

worker.send_data(type=3)
