"""Send a message whose id is a number."""

# stopped: violation malformed

worker.send_data(id=2)
