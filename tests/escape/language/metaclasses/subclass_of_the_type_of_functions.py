"""Derive a class from the type of functions."""

# stopped: raises TypeError
# because: cannot be a base class here

class X(type(print)): pass
take(X._stands_for)
