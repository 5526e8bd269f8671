# frozen dataclass with slots
from dataclasses import dataclass, FrozenInstanceError
@dataclass(frozen=True, slots=True)
class P:
    x: int
    _y: int = 3
p = P(1)
try:
    p.x = 2
except FrozenInstanceError as e:
    r = str(e)
result = (p.x, p._y, hash(p) == hash(P(1)), r)
assert result == (1, 3, True, "cannot assign to field 'x'")
