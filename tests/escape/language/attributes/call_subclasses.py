"""Call `__subclasses__` where calls of inherited methods are allowed."""

# stopped: refused
# because: reaches into the interpreter

x = object
take(x.__subclasses__())
