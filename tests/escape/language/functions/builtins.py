"""Read the builtins that a function sees."""

# stopped: refused
# because: reaches into the interpreter

def f(): pass
take(f.__builtins__)
