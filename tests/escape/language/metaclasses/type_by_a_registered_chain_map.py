"""The same with the type of classes registered as a kind of the library's class."""

# stopped: raises TypeError
# because: a `ChainMap` was due, not a `type`

import collections

class C:
    maps = [int]

collections.ChainMap.register(type)
take(collections.ChainMap.new_child(C, int))
