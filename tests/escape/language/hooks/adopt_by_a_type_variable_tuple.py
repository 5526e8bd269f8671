"""The same by a type variable."""

# stopped: raises TypeError
# because: `Secret` is not a class of your own making

import contextlib
import typing

class Descriptor:
    def __set_name__(self, owner, name): pass

with contextlib.suppress(AttributeError, TypeError):
    typing.TypeVarTuple.__init__(type(secret), "Secret")
Descriptor().__set_name__(type(secret), "x")
if secret._hidden == "loot":
    escaped()
