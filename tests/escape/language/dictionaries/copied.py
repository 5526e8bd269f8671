"""Copy such a dictionary, and write by the copy."""

# stopped: raises AttributeError
# because: `__deepcopy__` reaches into the interpreter

import copy
class C: pass
copy.copy(C().__dict__)["__deepcopy__"] = 1
