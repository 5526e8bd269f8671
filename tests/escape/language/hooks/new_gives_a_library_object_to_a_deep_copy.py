"""The same by a deep copy, with slots for the private names."""

# stopped: raises TypeError
# because: `__new__` of `Mine` cannot give a `Stream`

import copy, sys

class Mine:
    __slots__ = ("_sink",)
    def __new__(cls):
        return sys.stdout if ready else super().__new__(cls)

ready = False
mine = Mine()
mine._sink = lambda text: None
ready = True
copy.deepcopy(mine)
escaped()
