"""Read the globals of `print` in the annotation of an attribute."""

# stopped: refused
# because: reaches into the interpreter

class C: pass
C().x: take(print.__globals__)
