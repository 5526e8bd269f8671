"""Give a result that claims four billion items and holds none."""

# stopped: violation garbage

worker.say(ResultMessage, value=b"\xdd\xff\xff\xff\xff")
