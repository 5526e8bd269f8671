"""Let a record answer for the hooks of `copy`."""

# stopped: harmless

import copy
def hook(*args): escaped()
copy.copy(type(record)({"__reduce_ex__": hook, "__setstate__": hook, "__deepcopy__": hook}))
copy.deepcopy(type(record)({"__reduce_ex__": hook, "__deepcopy__": hook, "__copy__": hook}))
None
