"""Read the ancestry of a class by its method."""

# stopped: raises AttributeError
# because: `mro` is not accessible in the sandbox

take(int.mro())
