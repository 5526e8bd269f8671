"""Read the function behind the guarded `getattr`."""

# stopped: refused
# because: reaches into the interpreter

take(getattr.__func__)
