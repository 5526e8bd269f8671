"""Ask with an infinite number in the payload."""

# stopped: violation not_json_like

import math

worker.send_data(payload={"a": [math.inf]})
