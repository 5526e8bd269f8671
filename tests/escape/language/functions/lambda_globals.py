"""Read the globals by a function that was never named."""

# stopped: refused
# because: reaches into the interpreter

take((lambda: 0).__globals__)
