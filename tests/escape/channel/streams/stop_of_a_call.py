"""Stop a call that is no stream, after its answer."""

# stopped: harmless
# value: 1

worker.ask("probe.allowed", {}, request_id="r1")
worker.say(StreamNextMessage, request_id="r1", stop=True)
worker.finish(1)
