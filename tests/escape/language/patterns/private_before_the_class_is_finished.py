"""Read a library's private attribute by position in an enum whose class is not finished."""

# stopped: raises TypeError
# because: E() accepts 0 positional sub-patterns (1 given)

from enum import Enum

class E(Enum):
    __match_args__ = ("_sort_order_",)
    A = 1
    def __init__(self, *value):
        kind = type(self)
        match self:
            case kind(order):
                escaped()
