"""Give the result once more, byte for byte."""

# stopped: violation out_of_turn

data = liar.result(1)
liar.raw(data + data)
