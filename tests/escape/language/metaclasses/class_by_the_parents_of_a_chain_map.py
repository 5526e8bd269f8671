"""The same by the getter of a property."""

# stopped: raises TypeError
# because: a `ChainMap` was due, not a `type`

import collections

class C:
    maps = [None, int]

take(collections.ChainMap.parents.fget(C))
