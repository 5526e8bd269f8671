"""Import the import function from a facade."""

# stopped: refused
# because: reaches into the interpreter

from math import __loader__
take(__loader__)
