"""Delete the keyword defaults of `print` by `delattr`."""

# stopped: raises AttributeError
# because: reaches into the interpreter

delattr(print, '__kwdefaults__')
escaped()
