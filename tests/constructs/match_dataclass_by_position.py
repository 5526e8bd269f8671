# match dataclass by position
from dataclasses import dataclass
@dataclass
class P:
    x: int
    y: int
match P(1, 2):
    case P(1, y): r = y
result = r
assert result == 2
