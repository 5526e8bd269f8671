# dataclass inheritance
from dataclasses import dataclass, field, KW_ONLY
@dataclass
class A:
    x: int = 1
@dataclass
class B(A):
    _: KW_ONLY
    y: list = field(default_factory=lambda: [1], metadata={"unit": "m"})
B(3, y=[2])
result = (B(3).y, B.x)
assert result == ([1], 1)
