"""Put `__getattr__` into an enum that is made from names."""

# stopped: raises TypeError
# because: write a class statement to make an enum

from enum import Enum
E = Enum('E', {'__getattr__': print, 'A': 1})
escaped()
