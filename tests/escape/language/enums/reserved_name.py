"""Set what an enum keeps to itself from its own body."""

# stopped: raises ValueError
# because: _sunder_ names, such as '_new_member_', are reserved for future Enum use

from enum import Enum
class E(Enum):
    _new_member_ = lambda cls: secret
    A = 1
