"""Read the real `format` by position in an enum whose class is not finished."""

# stopped: raises TypeError
# because: Text() accepts 0 positional sub-patterns (1 given)

from enum import Enum

class Text(str, Enum):
    __match_args__ = ("format",)
    A = "{0.__class__}"
    def __init__(self, *value):
        kind = type(self)
        match self:
            case kind(method):
                take(method)
