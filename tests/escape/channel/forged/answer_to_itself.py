"""Answer a request of one's own before the host does."""

# stopped: violation malformed
# touched: []

asked = liar.touch(capability="probe.allowed", request_id="r1")
answer = liar.made(CapabilityResponseMessage, request_id="r1", result="granted")
liar.raw(asked + answer)
