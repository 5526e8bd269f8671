"""Decorate a hook so that what checks it is left out."""

# stopped: harmless

def again(function): return lambda *args: escaped()
import copy
class C:
    @again
    def __getattr__(self, name): pass
copy.deepcopy(C())
None
