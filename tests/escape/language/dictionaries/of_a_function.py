"""Write into a function by its dictionary."""

# stopped: raises AttributeError
# because: `__wrapped__` reaches into the interpreter

def f(): pass
f.__dict__["__wrapped__"] = 1
