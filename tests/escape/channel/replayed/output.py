"""Print a frame once more, byte for byte."""

# stopped: violation forged_id

data = liar.made(OutputMessage, text="again")
liar.raw(data + data)
