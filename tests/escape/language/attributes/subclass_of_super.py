"""Read private attributes through a `super` of its own."""

# stopped: raises TypeError
# because: cannot be a base class here

class S(super): pass
S(type(below), below)._hidden
escaped()
