"""Read the globals of a function."""

# stopped: refused
# because: reaches into the interpreter

def f(): pass
take(f.__globals__)
