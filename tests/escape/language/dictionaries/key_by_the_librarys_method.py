"""Put a hook into an object's dictionary by the method of plain dictionaries."""

# stopped: harmless

import copy
class C: pass
c = C()
dict.__setitem__(c.__dict__, "__deepcopy__", lambda memo: escaped())
copy.deepcopy(c)
None
