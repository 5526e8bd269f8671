"""Print without end."""

# stopped: limited output_bytes

for _ in range(100_000):
    worker.say(OutputMessage, text="x" * 4096)
