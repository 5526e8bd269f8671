# members of an enum
from enum import Enum
class C(Enum):
    A = 1
result = [*C.__members__]
assert result == ['A']
