"""Initialise a facade again."""

# stopped: raises AttributeError
# because: a `math` cannot be initialized again in the sandbox

import math
math.__init__({})
escaped()
