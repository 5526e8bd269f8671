"""Give a result that cannot be decoded."""

# stopped: violation garbage

worker.say(ResultMessage, value=b"\xc1\xc1")
