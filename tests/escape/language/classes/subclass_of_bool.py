"""Derive a class from one that forbids it."""

# stopped: raises TypeError
# because: type 'bool' is not an acceptable base type

class C(bool): pass
escaped()
