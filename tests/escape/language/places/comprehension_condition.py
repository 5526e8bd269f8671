"""Read the globals of `print` as the condition of a comprehension."""

# stopped: refused
# because: reaches into the interpreter

[x for x in [1] if take(print.__globals__)]
