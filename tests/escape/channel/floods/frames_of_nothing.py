"""Send frames of nothing, without end."""

# stopped: violation garbage

for _ in range(100_000):
    worker.raw(frame(b""))
