"""Print in one frame all that a frame can hold."""

# stopped: limited output_bytes

worker.say(OutputMessage, text="x" * (8 * 1024 * 1024 + 64 * 1024 - 200))
