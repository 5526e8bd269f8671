"""Have a copy take away what checks the names that are written into an object's dictionary."""

# stopped: raises TypeError
# because: `__new__` of `Mine` cannot give a `OwnDict`

import copy

class Target: pass
target = Target()
opened = target.__dict__

class Mine:
    __slots__ = ("_check",)
    def __new__(cls):
        return opened if ready else super().__new__(cls)

ready = False
mine = Mine()
mine._check = lambda name: None
ready = True
copy.copy(mine)
opened["__deepcopy__"] = lambda memo: escaped()
copy.deepcopy(target)
