"""Rename a function of ours."""

# stopped: raises AttributeError
# because: `__name__` can be set of your own functions and classes only

print.__name__ = 'x'
escaped()
