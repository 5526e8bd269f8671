"""Import every name of a module."""

# stopped: refused
# because: name what you import

from math import *
