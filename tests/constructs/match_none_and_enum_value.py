# match None and enum value
from enum import Enum
class C(Enum):
    RED = 1
match C.RED:
    case None: r = 0
    case C.RED: r = 1
result = r
assert result == 1
