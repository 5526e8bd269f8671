"""Give two results."""

# stopped: violation out_of_turn

liar.raw(liar.result(1) + liar.result(2))
