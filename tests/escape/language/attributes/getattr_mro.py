"""Read the ancestry of a class by `getattr`."""

# stopped: raises AttributeError
# because: `mro` is not shown

take(getattr(int, 'mro')())
