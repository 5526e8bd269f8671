"""Read the attributes of a library's object by `vars` of its `super`."""

# stopped: raises TypeError
# because: vars() needs an object of your own: a `super` does not show its `__dict__`

class C: pass
take(vars(super(type(secret), secret)))
