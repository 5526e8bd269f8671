"""Print a little now and then, for ever."""

# stopped: limited wall_ms
# limits: {"wall_ms": 300}

import time

while True:
    liar.say(OutputMessage, text=".")
    time.sleep(0.02)
