"""Stop what was never asked."""

# stopped: violation unknown_stream

worker.say(StreamNextMessage, request_id="none", stop=True)
