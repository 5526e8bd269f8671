"""Say that the code has started after its result."""

# stopped: violation out_of_turn

worker.raw(worker.result(1) + worker.made(StartedMessage))
