"""Read an attribute of the interpreter by a descriptor of the library's."""

# stopped: raises AttributeError
# because: `__get__` can be called of your own classes only

take(type(lambda: 0).__get__(lambda: 0))
