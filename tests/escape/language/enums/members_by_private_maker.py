"""Put `__getattr__` into an enum by the method that makes it."""

# stopped: raises AttributeError
# because: belongs to the library

from enum import Enum
class E(Enum): pass
E._create_('F', {'__getattr__': print})
