"""Read the object behind the guarded `getattr`."""

# stopped: refused
# because: reaches into the interpreter

take(getattr.__self__)
