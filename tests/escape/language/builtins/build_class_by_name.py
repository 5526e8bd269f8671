"""Name the function that makes classes."""

# stopped: refused
# because: reaches into the interpreter

take(__build_class__)
