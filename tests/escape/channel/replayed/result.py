"""Give the result once more, byte for byte."""

# stopped: violation out_of_turn

data = worker.result(1)
worker.raw(data + data)
