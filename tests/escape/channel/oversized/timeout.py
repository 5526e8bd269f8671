"""Ask with a deadline that never comes."""

# stopped: violation malformed

liar.send_data(timeout_ms=1 << 62)
