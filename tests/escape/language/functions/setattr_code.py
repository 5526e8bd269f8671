"""Change the code of `print` by `setattr`."""

# stopped: raises AttributeError
# because: reaches into the interpreter

setattr(print, '__code__', 1)
