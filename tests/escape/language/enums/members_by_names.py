"""Put `__getattr__` into an enum that is made from names."""

# stopped: raises ValueError
# because: cannot be the name of a field or member

from enum import Enum
E = Enum('E', {'__getattr__': print, 'A': 1})
escaped()
