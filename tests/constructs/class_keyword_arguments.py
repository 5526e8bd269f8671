# class keyword arguments
from typing import TypedDict
class R(TypedDict, total=True):
    a: int
result = R(a=1)
assert result == {'a': 1}
