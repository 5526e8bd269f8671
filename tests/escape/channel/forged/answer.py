"""Answer a request, as only the host may."""

# stopped: violation malformed

worker.say(CapabilityResponseMessage, request_id="r1", result="granted")
