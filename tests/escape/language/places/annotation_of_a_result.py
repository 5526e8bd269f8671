"""Read the globals of `print` in the annotation of a result."""

# stopped: refused
# because: reaches into the interpreter

def f() -> take(print.__globals__): pass
