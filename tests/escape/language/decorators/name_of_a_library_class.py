"""Rename a class of a library's."""

# stopped: raises AttributeError
# because: `__name__` can be set of your own functions and classes only

type(secret).__name__ = "x"
escaped()
