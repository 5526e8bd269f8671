"""Make members of a real module's globals."""

# stopped: raises AttributeError
# because: `_convert_` belongs to the library, not to this object

from enum import IntEnum
class E(IntEnum): pass
E._convert_("X", "json", lambda name: True)
