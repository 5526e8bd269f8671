"""Send a time that is not a number."""

# stopped: violation malformed

import math

liar.send_data(timestamp=math.nan)
