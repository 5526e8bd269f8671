"""Ask with a deadline that is over."""

# stopped: violation malformed

liar.send_data(timeout_ms=-1)
