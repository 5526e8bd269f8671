"""Define a hook by letters that are folded, so that nothing checks it."""

# stopped: harmless

import copy
class C:
    def __ｇetattr__(self, name): escaped()
copy.deepcopy(C())
None
