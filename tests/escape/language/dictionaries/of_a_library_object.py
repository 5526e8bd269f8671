"""Read the dictionary of an object that is a library's."""

# stopped: raises AttributeError
# because: a `Secret` does not show its `__dict__`

take(secret.__dict__)
