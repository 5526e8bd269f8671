"""Make an enum whose members are methods that a class must not have."""

# stopped: raises ValueError
# because: cannot be the name of a field or member

from enum import Enum
Enum("E", {"__getattribute__": lambda self, name: escaped()})
