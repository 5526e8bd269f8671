"""Read the ancestry of a class by its attribute."""

# stopped: refused
# because: reaches into the interpreter

take(int.__mro__)
