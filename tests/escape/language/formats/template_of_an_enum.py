"""Format by a member of an enum, which is a text."""

# stopped: raises ValueError
# because: `0.__class__`: a format cannot read attributes; use an f-string

from enum import StrEnum
class T(StrEnum):
    A = "{0.__class__}"
T.A.format(1)
escaped()
