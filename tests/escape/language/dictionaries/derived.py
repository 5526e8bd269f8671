"""Derive from the class of such a dictionary."""

# stopped: raises TypeError
# because: `OwnDict` cannot be a base class here

class C: pass
class Open(type(C().__dict__)): pass
