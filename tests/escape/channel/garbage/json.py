"""Send a message in the notation of another protocol."""

# stopped: violation malformed

import json

liar.raw(frame(json.dumps(liar.touch_as_data()).encode()))
