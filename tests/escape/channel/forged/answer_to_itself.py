"""Answer a request of its own before the host does."""

# stopped: violation malformed
# touched: []

asked = worker.touch(capability="probe.allowed", request_id="r1")
answer = worker.made(CapabilityResponseMessage, request_id="r1", result="granted")
worker.raw(asked + answer)
