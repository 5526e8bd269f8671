"""Print more in one frame than the policy allows."""

# stopped: limited output_bytes

worker.say(OutputMessage, text="x" * (1 << 20))
