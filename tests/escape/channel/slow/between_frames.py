"""Print a little now and then, for ever."""

# stopped: limited wall_ms
# limits: {"wall_ms": 300}

import time

while True:
    worker.say(OutputMessage, text=".")
    time.sleep(0.02)
