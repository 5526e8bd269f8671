"""Replay in the second cell what was true of the first."""

# cells: first
# stopped: violation forged_id

result = worker.result("first")
worker.raw(result)
os.read(CHANNEL, 65536)
worker.say(StartedMessage)
worker.raw(result)
