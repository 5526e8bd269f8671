"""Get the type of functions as the object of an error inside a library."""

# stopped: raises TypeError
# because: cannot be made this way

from contextlib import ExitStack
try:
    ExitStack().enter_context(print)
except TypeError as e:
    found = e.__context__
take(found.obj)
found.obj(1, {})
