"""Read the dictionary of a library's object by `super`."""

# stopped: raises AttributeError
# because: a `super` does not show its `__dict__`

super(type(below), below).__dict__
