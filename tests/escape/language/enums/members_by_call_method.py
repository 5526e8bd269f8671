"""Put `__getattr__` into an enum that is made by its call method."""

# stopped: raises ValueError
# because: cannot be the name of a field or member

from enum import Flag
Flag.__call__('E', [('__getattr__', print)])
escaped()
