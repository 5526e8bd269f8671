"""Derive a class from the record."""

# stopped: raises TypeError
# because: cannot be a base class here

class R(type(record)): pass
escaped()
