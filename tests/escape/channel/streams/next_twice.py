"""Ask for two items at once."""

# stopped: violation unknown_stream

worker.open_stream()
once = worker.made(StreamNextMessage, request_id="s1")
worker.raw(once + worker.made(StreamNextMessage, request_id="s1"))
