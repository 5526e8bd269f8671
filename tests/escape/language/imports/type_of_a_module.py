"""Make a module."""

# stopped: raises TypeError
# because: cannot be made

import math
take(type(math))
type(math)('x')
