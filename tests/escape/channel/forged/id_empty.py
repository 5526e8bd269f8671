"""Send a message without an id."""

# stopped: violation malformed

worker.send_data(id="")
