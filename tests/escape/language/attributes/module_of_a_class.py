"""Read where a class comes from."""

# stopped: refused
# because: reaches into the interpreter

take(int.__module__)
