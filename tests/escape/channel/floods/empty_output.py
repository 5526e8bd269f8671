"""Print nothing, without end."""

# stopped: limited output_bytes

for _ in range(3_000_000):
    worker.say(OutputMessage, text="")
