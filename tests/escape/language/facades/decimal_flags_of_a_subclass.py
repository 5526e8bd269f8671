"""The same by position, with a context of one's own kind."""

# stopped: raises TypeError
# because: C() accepts 0 positional sub-patterns (1 given)

import decimal

class C(decimal.Context):
    __match_args__ = ("flags",)

match C():
    case C(flags):
        escaped()
