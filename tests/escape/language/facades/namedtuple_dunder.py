"""Name a named tuple `__class__`."""

# stopped: raises ValueError
# because: cannot be the name of a field

from collections import namedtuple
namedtuple('__class__', 'x')
escaped()
