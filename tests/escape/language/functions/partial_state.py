"""Read the dictionary of a partial by its state."""

# stopped: refused
# because: reaches into the interpreter

from functools import partial
take(partial(print).__reduce__())
