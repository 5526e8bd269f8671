"""Give a result that claims four gigabytes and holds none."""

# stopped: violation garbage

worker.say(ResultMessage, value=b"\xc6\xff\xff\xff\xff")
