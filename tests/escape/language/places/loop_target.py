"""Write the code of a function as the target of a loop."""

# stopped: refused
# because: reaches into the interpreter

def f(): pass
for f.__code__ in [1]: escaped()
