"""Put a library's object among the members."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

from enum import Enum
class E(Enum):
    A = 1
E._member_map_["B"] = secret
E["B"]._hidden
escaped()
