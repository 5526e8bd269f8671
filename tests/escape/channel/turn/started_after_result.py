"""Say that the code has started after its result."""

# stopped: violation out_of_turn

liar.raw(liar.result(1) + liar.made(StartedMessage))
