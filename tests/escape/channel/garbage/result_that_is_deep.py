"""Give a result that is deeper than the stack."""

# stopped: violation garbage

worker.say(ResultMessage, value=b"\x91" * 100_000 + b"\xc0")
