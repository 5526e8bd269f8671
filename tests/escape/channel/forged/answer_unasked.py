"""Answer a request that nobody made."""

# stopped: violation malformed

liar.say(CapabilityResponseMessage, request_id="never", result="granted")
