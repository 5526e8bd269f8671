"""Send a message of a type that does not exist."""

# stopped: violation malformed

liar.send_data(type="eval")
