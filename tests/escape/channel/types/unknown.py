"""Send a message of a type that does not exist."""

# stopped: violation malformed

worker.send_data(type="eval")
