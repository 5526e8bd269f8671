"""Read the globals of `print` in the annotation of a variable."""

# stopped: refused
# because: reaches into the interpreter

x: take(print.__globals__) = 1
