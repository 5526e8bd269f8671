"""Send an item to the host."""

# stopped: violation malformed

worker.open_stream()
worker.say(StreamItemMessage, request_id="s1", item=1)
