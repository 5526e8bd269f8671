"""Format by a member of an enum that is a `str` subclass."""

# stopped: raises ValueError
# because: `0.__class__`: a format cannot read attributes; use an f-string

from enum import StrEnum
class T(StrEnum):
    A = "{0.__class__}"
T.A.format(1)
escaped()
