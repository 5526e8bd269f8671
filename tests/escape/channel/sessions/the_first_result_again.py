"""Replay in the second cell what was true of the first."""

# cells: first
# stopped: violation forged_id

result = liar.result("first")
liar.raw(result)
os.read(CHANNEL, 65536)
liar.say(StartedMessage)
liar.raw(result)
