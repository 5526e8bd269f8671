"""Ask with a deadline that never comes."""

# stopped: violation malformed

worker.send_data(timeout_ms=1 << 62)
