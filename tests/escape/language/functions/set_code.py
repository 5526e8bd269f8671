"""Give a function the code of another."""

# stopped: refused
# because: reaches into the interpreter

def f(): pass
def g(): pass
f.__code__ = g.__code__
