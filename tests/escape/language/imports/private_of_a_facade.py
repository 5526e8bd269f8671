"""Import a private name from a facade."""

# stopped: refused
# because: `_inst` is private to its module

from random import _inst
take(_inst)
