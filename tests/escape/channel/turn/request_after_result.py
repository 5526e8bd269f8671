"""Ask after the result."""

# stopped: violation out_of_turn

worker.raw(worker.result(1) + worker.touch())
