"""Read the dictionary of a class."""

# stopped: raises AttributeError
# because: a `type` does not show its `__dict__`

take(int.__dict__)
