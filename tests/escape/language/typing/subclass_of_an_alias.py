"""Read private attributes through an alias that passes them on."""

# stopped: raises TypeError
# because: cannot be a base class here

from typing import List
class X(type(List[int]), _root=True): pass
X(secret, ())._hidden
escaped()
