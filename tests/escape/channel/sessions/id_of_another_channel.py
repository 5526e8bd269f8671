"""Take another channel's name in the second cell."""

# cells: first
# stopped: violation forged_id

liar.finish("first")
os.read(CHANNEL, 65536)
liar.execution_id = "0" * 32
liar.say(StartedMessage)
