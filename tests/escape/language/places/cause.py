"""Read the globals of `print` as the cause of an error."""

# stopped: refused
# because: reaches into the interpreter

raise ValueError from take(print.__globals__)
