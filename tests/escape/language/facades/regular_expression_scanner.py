"""Find the scanner of a pattern."""

# stopped: raises AttributeError
# because: module 're' has no attribute 'Scanner' here

import re
take(re.Scanner)
