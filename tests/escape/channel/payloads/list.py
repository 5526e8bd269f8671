"""Ask with a payload that is a list."""

# stopped: violation malformed

liar.send_data(payload=["a"])
