"""Read the object of an error by `vars`."""

# stopped: raises TypeError
# because: vars() needs an object of your own: a `AttributeError` does not show its `__dict__`

from contextlib import ExitStack
try:
    ExitStack().enter_context(int)
except TypeError as error:
    take(list(vars(error.__context__).values()))
