"""Read the globals of `print` by a walrus."""

# stopped: refused
# because: reaches into the interpreter

take(x := print.__globals__)
