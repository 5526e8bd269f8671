"""The same by the operator's method of plain dictionaries."""

# stopped: harmless

import copy
class C: pass
c = C()
dict.__ior__(c.__dict__, {"__deepcopy__": lambda memo: escaped()})
copy.deepcopy(c)
None
