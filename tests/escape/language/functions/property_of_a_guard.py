"""Reach the guard behind `getattr` by a property."""

# stopped: raises AttributeError
# because: `__self__` is shown of your own methods only

take(property(getattr).fget)
property(getattr).fget.__self__
