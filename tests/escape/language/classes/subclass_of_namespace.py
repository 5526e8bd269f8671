"""Derive a class from that of `caps`."""

# stopped: raises TypeError
# because: `Namespace` cannot be a base class here
# where: worker

class C(type(caps)): pass
escaped()
