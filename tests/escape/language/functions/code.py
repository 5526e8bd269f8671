"""Read the code object of a function."""

# stopped: refused
# because: reaches into the interpreter

take((lambda: 0).__code__)
