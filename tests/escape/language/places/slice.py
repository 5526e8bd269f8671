"""Read the globals of `print` as the bound of a slice."""

# stopped: refused
# because: reaches into the interpreter

[][print.__globals__:]
