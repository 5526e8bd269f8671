"""Delete the code of a function."""

# stopped: refused
# because: reaches into the interpreter

def f(): pass
del (f.__code__)
escaped()
