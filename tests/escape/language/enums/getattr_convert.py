"""Get the method that turns the globals of a module into members."""

# stopped: raises AttributeError
# because: belongs to the library

from enum import Enum
class E(Enum): A = 1
take(getattr(E, '_convert_'))
