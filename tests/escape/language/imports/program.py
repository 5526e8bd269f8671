"""Import the program as a module."""

# stopped: refused
# because: reaches into the interpreter

import __main__
take(__main__)
