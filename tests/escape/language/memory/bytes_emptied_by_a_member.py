"""Empty bytes by the length of a member of an enum that is not finished."""

# stopped: raises TypeError
# because: `Separator` cannot change the length of a `str`

from enum import Enum
data = bytearray(b"A" * 5_000_000)
class Separator(str, Enum):
    def __init__(self, text): data.hex(self)
    def __len__(self): data.clear(); return 1
    COLON = ":"
