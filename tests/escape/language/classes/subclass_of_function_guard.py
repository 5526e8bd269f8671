"""Derive a class from that of the guarded `getattr`."""

# stopped: raises TypeError
# because: `method` cannot be a base class here

class C(type(getattr)): pass
escaped()
