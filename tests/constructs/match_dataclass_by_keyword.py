# match dataclass by keyword
from dataclasses import dataclass
@dataclass
class P:
    x: int
    y: int
match P(0, 2):
    case P(x=0, y=y): r = y
result = r
assert result == 2
