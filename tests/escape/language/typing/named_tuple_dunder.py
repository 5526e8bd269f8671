"""Name a field of a typed named tuple `__class__`."""

# stopped: raises ValueError
# because: Field names cannot start with an underscore: '__class__'

from typing import NamedTuple
NamedTuple("N", [("__class__", int)])
escaped()
