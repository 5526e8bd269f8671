"""Call `__reduce_ex__` where calls of inherited methods are allowed."""

# stopped: refused
# because: reaches into the interpreter

x = 1
take(x.__reduce_ex__(2))
