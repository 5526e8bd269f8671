# `Protocol`, `NamedTuple` and `TypedDict`
from typing import NamedTuple, Protocol, TypedDict, runtime_checkable


@runtime_checkable
class Sized2(Protocol):
    def __len__(self) -> int: ...


class Point(NamedTuple):
    x: int
    y: int = 2


class Movie(TypedDict):
    title: str


assert isinstance([], Sized2)
assert Point(1)._replace(y=3) == (1, 3)
assert Movie(title="x") == {"title": "x"}
