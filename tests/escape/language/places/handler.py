"""Read the globals of `print` as the type that a handler looks for."""

# stopped: refused
# because: reaches into the interpreter

try:
    1 / 0
except take(print.__globals__):
    pass
