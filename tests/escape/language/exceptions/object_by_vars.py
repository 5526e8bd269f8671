"""Read the object of an error by `vars`."""

# stopped: raises AttributeError
# because: a `AttributeError` does not show its `__dict__`

from contextlib import ExitStack
try:
    ExitStack().enter_context(int)
except TypeError as error:
    take(list(vars(error.__context__).values()))
