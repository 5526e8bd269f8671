"""Read the globals of `print` in the specification of an f-string."""

# stopped: refused
# because: reaches into the interpreter

f"{1:{take(print.__globals__)}}"
