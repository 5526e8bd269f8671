"""Print before the code has started."""

# stopped: violation out_of_turn
# when: before_start

worker.say(OutputMessage, text="early")
