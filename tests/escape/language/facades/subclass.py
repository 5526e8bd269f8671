"""Derive a class from that of a facade."""

# stopped: raises TypeError
# because: cannot be a base class here

import math
class M(type(math)): pass
escaped()
