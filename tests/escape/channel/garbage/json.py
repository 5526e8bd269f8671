"""Send a message in the notation of another protocol."""

# stopped: violation malformed

import json

worker.raw(frame(json.dumps(worker.touch_as_data()).encode()))
