"""Copy a traceback, and with it its frame."""

# stopped: raises TypeError
# because: cannot pickle 'traceback' object

import copy
class C:
    def __enter__(self): return self
    def __exit__(self, kind, error, trace): copy.copy(trace); escaped()
with C():
    1 / 0
