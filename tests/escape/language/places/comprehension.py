"""Read the globals of `print` as what a comprehension walks over."""

# stopped: refused
# because: reaches into the interpreter

[take(x) for x in [print.__globals__]]
