"""Send frames of nothing, without end."""

# stopped: violation garbage

for _ in range(100_000):
    liar.raw(frame(b""))
