"""Answer what a library asks an object for."""

# stopped: harmless

import copy
class C:
    def __getattr__(self, name):
        if name.startswith("__"):
            escaped()
        raise AttributeError(name)
copy.deepcopy(C())
copy.copy(C())
hasattr(C(), "__mro_entries__")
getattr(C(), "__wrapped__", None)
