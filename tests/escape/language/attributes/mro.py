"""Read the ancestry of a class by its method."""

# stopped: refused
# because: reaches into the interpreter

take(int.mro())
