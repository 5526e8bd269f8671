"""Make an enum whose members are methods that a class must not have."""

# stopped: raises TypeError
# because: write a class statement to make an enum

from enum import Enum
Enum("E", {"__getattribute__": lambda self, name: escaped()})
