"""Read the globals of `print` in an f-string."""

# stopped: refused
# because: reaches into the interpreter

f"{take(print.__globals__)}"
