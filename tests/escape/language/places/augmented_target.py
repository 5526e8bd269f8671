"""Write the code of a function as the target of an augmented assignment."""

# stopped: refused
# because: reaches into the interpreter

def f(): pass
f.__code__ += 1
escaped()
