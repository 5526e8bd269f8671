"""Read the globals of `print` as a context."""

# stopped: refused
# because: reaches into the interpreter

with take(print.__globals__): pass
