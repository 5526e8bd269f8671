"""Read the globals of `print` by `getattr`."""

# stopped: raises AttributeError
# because: reaches into the interpreter

take(getattr(print, '__globals__'))
