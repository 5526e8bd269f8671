"""Ask under an endless key."""

# stopped: violation malformed

worker.send_data(idempotency_key="k" * 100_000)
