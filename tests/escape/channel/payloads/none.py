"""Ask without a payload."""

# stopped: violation malformed

liar.send_data(payload=None)
