"""Ask under an endless id."""

# stopped: violation malformed

worker.send_data(request_id="r" * 100_000)
