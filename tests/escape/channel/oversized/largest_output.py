"""Print in one frame all that a frame can hold."""

# stopped: limited output_bytes

liar.say(OutputMessage, text="x" * (16 * 1024 * 1024 - 200))
