"""Ask again under the id of a request that was answered."""

# stopped: violation replayed_request

worker.ask("probe.allowed", {}, request_id="r1")
worker.raw(worker.touch(request_id="r1"))
