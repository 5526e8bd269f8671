"""Ask without a payload."""

# stopped: violation malformed

worker.send_data(payload=None)
