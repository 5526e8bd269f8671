"""The same by position, with a class that contexts are registered for."""

# stopped: raises TypeError
# because: Context() accepts 0 positional sub-patterns (1 given)

import decimal
from abc import ABC
class Context(ABC):
    __match_args__ = ("flags",)
Context.register(decimal.Context)
match decimal.Context():
    case Context(flags):
        escaped()
