"""Ask for the next item of a call that was answered."""

# stopped: violation unknown_stream

worker.ask("probe.allowed", {}, request_id="r1")
worker.say(StreamNextMessage, request_id="r1")
