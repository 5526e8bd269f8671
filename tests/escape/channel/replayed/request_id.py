"""Ask again under the id of a request that was answered."""

# stopped: violation replayed_request

liar.ask("probe.allowed", {}, request_id="r1")
liar.raw(liar.touch(request_id="r1"))
