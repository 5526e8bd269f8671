"""Read the ancestry of a class by its method."""

# stopped: raises AttributeError
# because: `mro` is not shown

take(int.mro())
