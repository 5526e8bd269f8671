# future annotations
from __future__ import annotations
def f(a: Missing) -> Nothing: return a
result = f(1)
assert result == 1
