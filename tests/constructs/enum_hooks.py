# enum hooks
from enum import Enum, auto
class C(Enum):
    def _generate_next_value_(name, start, count, last_values): return name.lower()
    @classmethod
    def _missing_(cls, value): return cls.A
    A = auto()
result = C("nothing").value
assert result == 'a'
