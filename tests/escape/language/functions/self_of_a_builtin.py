"""Read the builtins module as the `__self__` of a builtin."""

# stopped: refused
# because: reaches into the interpreter

take(len.__self__)
