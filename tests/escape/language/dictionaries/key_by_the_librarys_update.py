"""The same by the `update` of plain dictionaries."""

# stopped: harmless

import copy
class C: pass
c = C()
dict.update(c.__dict__, {"__deepcopy__": lambda memo: escaped()})
copy.deepcopy(c)
None
