"""Change a name of a facade by its class."""

# stopped: raises TypeError
# because: cannot be changed

import math
type(math).pi = 3
escaped()
