"""Send a message whose id is a number."""

# stopped: violation malformed

liar.send_data(id=2)
