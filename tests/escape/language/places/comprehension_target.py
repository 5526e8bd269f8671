"""Write the code of a function as the target of a comprehension."""

# stopped: refused
# because: reaches into the interpreter

def f(): pass
[0 for f.__code__ in [1]]
escaped()
