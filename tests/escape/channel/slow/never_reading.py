"""Ask for much and take nothing, until the channel is full."""

# stopped: limited wall_ms
# limits: {"wall_ms": 1000}

import signal

for number in range(15):
    payload = {"path": "large.txt"}
    asked = {"request_id": f"r{number}", "capability": "files.read", "payload": payload}
    worker.say(CapabilityRequestMessage, **asked)
signal.pause()
