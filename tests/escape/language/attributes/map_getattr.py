"""Read the globals of `print` by `getattr` in the hands of `map`."""

# stopped: raises AttributeError
# because: reaches into the interpreter

take(list(map(getattr, [print], ["__globals__"])))
