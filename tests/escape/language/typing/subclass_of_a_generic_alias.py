"""Read private attributes through a builtin alias that passes them on."""

# stopped: raises TypeError
# because: cannot be a base class here

class X(type(list[int])): pass
X(secret, ())._hidden
escaped()
