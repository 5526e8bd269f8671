"""The same for `__new__`."""

# stopped: raises TypeError
# because: `__new__` makes instances of your own classes only

class C: pass
bound = super(type(below), below)
make = bound.__new__
super.__init__(bound, C, C())
make(type(secret))
escaped()
