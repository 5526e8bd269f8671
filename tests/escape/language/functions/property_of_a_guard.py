"""Reach the guard behind `getattr` by a property."""

# stopped: refused
# because: reaches into the interpreter

take(property(getattr).fget)
property(getattr).fget.__self__
