"""Read the globals of `print` as the default of a keyword."""

# stopped: refused
# because: reaches into the interpreter

take((lambda *, x=print.__globals__: x)())
