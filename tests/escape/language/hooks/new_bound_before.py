"""The same for `__new__`."""

# stopped: raises AttributeError
# because: a `super` cannot be initialized again in the sandbox

class C: pass
bound = super(type(below), below)
make = bound.__new__
super.__init__(bound, C, C())
make(type(secret))
escaped()
