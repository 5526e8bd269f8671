"""Read the dictionary of a class."""

# stopped: refused
# because: reaches into the interpreter

take(int.__dict__)
