"""Initialise a facade again."""

# stopped: raises TypeError
# because: takes exactly one argument

import math
math.__init__({})
escaped()
