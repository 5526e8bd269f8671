"""Put `__getattr__` into an enum that is made by its call method."""

# stopped: raises TypeError
# because: write a class statement to make an enum

from enum import Flag
Flag.__call__('E', [('__getattr__', print)])
escaped()
