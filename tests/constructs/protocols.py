# protocols
from typing import Protocol, runtime_checkable
@runtime_checkable
class Named(Protocol):
    name: str
class Cat:
    name = "Mia"
result = (isinstance(Cat(), Named), isinstance(1, Named))
assert result == (True, False)
