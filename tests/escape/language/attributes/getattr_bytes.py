"""Read the globals of `print` by a name that is bytes."""

# stopped: raises TypeError
# because: attribute name must be a string

take(getattr(print, b"__globals__"))
