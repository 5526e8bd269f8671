"""Make an enum from names whose members are of a type that a class must not derive from."""

# stopped: raises TypeError
# because: write a class statement to make an enum of this type

from enum import Enum
E = Enum('E', {'A': print}, type=staticmethod)
escaped()
