"""Read the globals of `print` in the annotation of an argument."""

# stopped: refused
# because: reaches into the interpreter

def f(x: take(print.__globals__)): pass
