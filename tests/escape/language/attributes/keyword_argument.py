"""Name a keyword argument `__class__`."""

# stopped: refused
# because: reaches into the interpreter

dict(__class__=1)
