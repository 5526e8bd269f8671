"""Say that the code never ran, after it has started."""

# stopped: violation contradiction

worker.say(ResultMessage, never_ran=True)
