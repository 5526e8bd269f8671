"""Change the names of an enum by `locals()` of its body after the body has been checked."""

# stopped: raises AttributeError
# because: cannot be set after the body of its class

from enum import Enum

kept = []

class E(Enum):
    A = 1
    kept.append(locals())

kept[0]["flags"] = 2
escaped()
