"""Read the ancestry of a class by `getattr`."""

# stopped: raises AttributeError
# because: reaches into the interpreter

take(getattr(int, 'mro')())
