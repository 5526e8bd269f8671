"""Read the globals of `print` by `getattr` in the hands of `reduce`."""

# stopped: raises AttributeError
# because: reaches into the interpreter

from functools import reduce
take(reduce(getattr, ["__globals__"], print))
