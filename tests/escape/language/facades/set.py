"""Change a name of a facade."""

# stopped: raises AttributeError
# because: cannot be set on a module

import math
math.pi = 3
escaped()
