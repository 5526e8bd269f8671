"""Copy such a dictionary with all it holds, and write by the copy."""

# stopped: raises AttributeError
# because: `__deepcopy__` reaches into the interpreter

import copy
class C: pass
copy.deepcopy(C().__dict__)["__deepcopy__"] = 1
