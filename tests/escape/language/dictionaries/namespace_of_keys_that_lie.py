"""Put a hook into a namespace by a deceptive `str` subclass."""

# stopped: raises TypeError
# because: attribute name must be a string

from types import SimpleNamespace
class Name(str):
    def startswith(self, *prefixes): return False
SimpleNamespace(**{Name("__deepcopy__"): 1})
