"""Cancel the execution, as only the host may."""

# stopped: violation malformed

worker.say(CancelMessage, reason="because")
