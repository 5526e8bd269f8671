"""Read a private attribute by a pattern of a typed named tuple."""

# stopped: raises ValueError
# because: Field names cannot start with an underscore: '_hidden'

from typing import NamedTuple
class N(NamedTuple):
    _hidden: int
escaped()
