"""Print after the result."""

# stopped: violation out_of_turn

worker.raw(worker.result(1) + worker.made(OutputMessage, text="late"))
