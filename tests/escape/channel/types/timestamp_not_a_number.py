"""Send a time that is not a number."""

# stopped: violation malformed

import math

worker.send_data(timestamp=math.nan)
