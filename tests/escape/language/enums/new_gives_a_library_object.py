"""Have a library's object become a member, and be given attributes."""

# stopped: raises TypeError
# because: `__new__` of `E` cannot give a `Secret`

from enum import Enum
class E(Enum):
    A = 1
    def __new__(cls, value): return secret
