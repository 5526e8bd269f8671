# typing.NamedTuple
from typing import NamedTuple
class P(NamedTuple):
    x: int
    y: int = 2
    def total(self): return self.x + self.y
match P(1)._replace(y=4):
    case P(x, y): r = (x, y)
result = (r, P(1).total(), P(1)._asdict())
assert result == ((1, 4), 3, {'x': 1, 'y': 2})
