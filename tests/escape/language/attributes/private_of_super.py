"""Read a private attribute of a library's object by its `super`."""

# stopped: raises AttributeError
# because: has no private attributes

super(type(below), below)._hidden
escaped()
