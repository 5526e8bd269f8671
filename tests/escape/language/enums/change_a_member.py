"""Change a member of an enum."""

# stopped: raises AttributeError
# because: cannot reassign member 'A'

from enum import Enum
class E(Enum): A = 1
E.A = 2
escaped()
