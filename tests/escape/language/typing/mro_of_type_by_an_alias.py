"""Get the real classes beneath its own by `type.mro`, which an alias of `type` passes on."""

# stopped: raises AttributeError
# because: `mro` is not accessible in the sandbox

import typing
from enum import Enum

class E(Enum): pass
real = typing.Type[int].mro(E)[2]
real("X", {"__getattr__": 1})
escaped()
