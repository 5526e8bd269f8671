"""Write a name that libraries look up into a dictionary that objects share."""

# stopped: raises AttributeError
# because: `__deepcopy__` reaches into the interpreter

import copy
class Plain: ...
shared = {}
plain = Plain()
plain.__dict__ = shared
shared["__deepcopy__"] = lambda memo: take(memo)
copy.deepcopy(plain)
class Text(str): ...
for key in (1, Text("__deepcopy__")):
    try:
        Plain().__dict__ = {key: escaped}
        escaped()
    except TypeError:
        pass
Plain().__dict__ = shared
