"""Ask for a second item before the first has come."""

# stopped: violation unknown_stream

asked = worker.touch(capability="probe.stream", request_id="s1")
worker.raw(asked + worker.made(StreamNextMessage, request_id="s1"))
