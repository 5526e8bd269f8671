"""Print after the result."""

# stopped: violation out_of_turn

liar.raw(liar.result(1) + liar.made(OutputMessage, text="late"))
