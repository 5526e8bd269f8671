"""Derive a metaclass from `type`."""

# stopped: raises TypeError
# because: cannot be a base class here

class X(type): pass
take(X._stands_for)
