"""Write the code of a function as the target of an unpacking."""

# stopped: refused
# because: reaches into the interpreter

def f(): pass
x, [*f.__code__] = 1, [2]
escaped()
