"""Read a library's private method by a `super` that is bound to an object of its own."""

# stopped: raises AttributeError
# because: `_method` belongs to the library, not to this object

class Mine(type(below)): pass
super(Mine, Mine())._method
escaped()
