"""Send a message without an id."""

# stopped: violation malformed

liar.send_data(id="")
