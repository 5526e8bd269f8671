"""Answer a request that nobody made."""

# stopped: violation malformed

worker.say(CapabilityResponseMessage, request_id="never", result="granted")
