# typing
from typing import Any, Generic, Optional, TypedDict, TypeVar, Union, cast
T = TypeVar("T")
class Box(Generic[T]):
    def __init__(self, item: T) -> None: self._item = item
    def get(self) -> Optional[T]: return self._item
class Row(TypedDict, total=False):
    name: str
def f(x: Union[int, str, None] = None) -> Any: return x
result = (Box[int](3).get(), Row(name="a"), cast(int, f("b")))
assert result == (3, {'name': 'a'}, 'b')
