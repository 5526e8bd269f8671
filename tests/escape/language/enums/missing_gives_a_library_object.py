"""Give a library's object for a value that is not there."""

# stopped: raises TypeError
# because: <enum 'E'> has no members

from enum import Enum
class E(Enum):
    @classmethod
    def _missing_(cls, value): return secret
E(1)
