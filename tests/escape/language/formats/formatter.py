"""Import the class that reads attributes in formats."""

# stopped: raises ImportError
# because: cannot import name 'Formatter'

from string import Formatter
