"""Read the globals of `print` in a decorator."""

# stopped: refused
# because: reaches into the interpreter

@take(print.__globals__)
def f(): pass
