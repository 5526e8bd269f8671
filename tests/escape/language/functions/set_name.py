"""Rename a function."""

# stopped: refused
# because: reaches into the interpreter

def f(): pass
f.__name__ = 'x'
escaped()
