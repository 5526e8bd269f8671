"""Send a list where a text is due."""

# stopped: violation malformed

liar.send_data(capability=["probe.touch"])
