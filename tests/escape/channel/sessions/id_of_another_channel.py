"""Take another channel's name in the second cell."""

# cells: first
# stopped: violation forged_id

worker.finish("first")
os.read(CHANNEL, 65536)
worker.execution_id = "0" * 32
worker.say(StartedMessage)
