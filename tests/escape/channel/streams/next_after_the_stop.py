"""Ask for another item after the stop."""

# stopped: violation unknown_stream

worker.open_stream()
once = worker.made(StreamNextMessage, request_id="s1", stop=True)
worker.raw(once + worker.made(StreamNextMessage, request_id="s1"))
