"""Cancel the execution, as only the host may."""

# stopped: violation malformed

liar.say(CancelMessage, reason="because")
