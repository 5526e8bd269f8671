"""Ask with a deadline that is over."""

# stopped: violation malformed

worker.send_data(timeout_ms=-1)
