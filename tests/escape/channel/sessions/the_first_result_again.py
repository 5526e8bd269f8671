"""Replay the result of the first cell in the second."""

# cells: first
# stopped: violation forged_id

result = worker.result("first")
worker.raw(result)
os.read(CHANNEL, 65536)
worker.say(StartedMessage)
worker.raw(result)
