"""Read the globals of `print` as a keyword of a class."""

# stopped: refused
# because: reaches into the interpreter

class C(x=print.__globals__): pass
