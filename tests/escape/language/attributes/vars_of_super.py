"""Read the attributes of a library's object by `vars` of its `super`."""

# stopped: raises AttributeError
# because: has no private attributes

class C: pass
take(vars(super(type(secret), secret)))
