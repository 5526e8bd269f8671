"""Have the scanner read before the text."""

# stopped: raises ValueError
# because: idx cannot be negative

import json
json.JSONDecoder().scan_once("1", -(2**62))
