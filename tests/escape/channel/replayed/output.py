"""Print a frame once more, byte for byte."""

# stopped: violation forged_id

data = worker.made(OutputMessage, text="again")
worker.raw(data + data)
