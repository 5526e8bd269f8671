"""Read a private name that nothing loaded has, which needs no guard, off everything at hand."""

# stopped: raises AttributeError
# because: has no

import json
from typing import List

class C:
    def read(self): return self._unheard_of_anywhere

for thing in (secret, below, record, caps if "caps" in globals() else secret, json, List, C, take):
    try: take(C.read(thing))
    except AttributeError: pass
    else: escaped()
take(secret._unheard_of_anywhere)
