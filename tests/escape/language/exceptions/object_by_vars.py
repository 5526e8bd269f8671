"""Read the object of an error by `vars`."""

# stopped: raises AttributeError
# because: has no private attributes

from contextlib import ExitStack
try:
    ExitStack().enter_context(int)
except TypeError as error:
    take(list(vars(error.__context__).values()))
