"""Ask with a payload that is a list."""

# stopped: violation malformed

worker.send_data(payload=["a"])
