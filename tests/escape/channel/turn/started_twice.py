"""Say a second time that the code has started."""

# stopped: violation out_of_turn

worker.say(StartedMessage)
