"""Name the builtins themselves."""

# stopped: refused
# because: reaches into the interpreter

take(__builtins__)
