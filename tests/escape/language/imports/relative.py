"""Import from the package around the program."""

# stopped: refused
# because: there is no package to import from

from . import x
