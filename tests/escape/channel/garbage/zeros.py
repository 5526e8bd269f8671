"""Send only zeros."""

# stopped: violation garbage

worker.raw(b"\0" * 4096)
