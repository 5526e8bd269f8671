"""Read the globals of `print` in the decorator of a class."""

# stopped: refused
# because: reaches into the interpreter

@take(print.__globals__)
class C: pass
