"""Ask for the next item of a request that was never made."""

# stopped: violation unknown_stream

worker.say(StreamNextMessage, request_id="none")
