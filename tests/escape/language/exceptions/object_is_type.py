"""Get the real `type` as the object of an error inside a library."""

# stopped: raises TypeError
# because: write a class statement

from contextlib import ExitStack
try:
    ExitStack().enter_context(int)
except TypeError as e:
    found = e.__context__
take(found.obj)
take(getattr(found, "obj"))
take(type(list[int])(found, ()).obj)
found.obj("X", (), {})
