"""Observe what the interpreter and libraries set on an object."""

# stopped: harmless

from typing import final

class Error(Exception):
    def __setattr__(self, name, value):
        if name.startswith("__"):
            escaped()

@final
class C(Error): pass

final(Error())
try:
    raise Error from Error()
except Error as error:
    error.__traceback__ = None
None
