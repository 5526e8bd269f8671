"""Read an attribute by a format in the hands of `reduce`."""

# stopped: raises ValueError
# because: a format cannot read attributes

from functools import reduce
reduce(str.format, [1], "{0.real}")
escaped()
