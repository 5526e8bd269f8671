"""Read the globals of `print` by `getattr` in the hands of `partial`."""

# stopped: raises AttributeError
# because: reaches into the interpreter

from functools import partial
take(partial(getattr, print)("__globals__"))
