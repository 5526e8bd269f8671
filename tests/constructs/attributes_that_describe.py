# attributes that describe classes, functions and methods
import functools
from dataclasses import dataclass


class Point:
    __slots__ = ("x", "y")
    __match_args__ = ("x", "y")

    def __init__(self, x, y=2, *, z=3):
        self.x, self.y = x, y

    @classmethod
    def zero(cls):
        return cls(0, 0)


class Point3(Point):
    __slots__ = ("z",)


p = Point(1)
assert Point.__slots__ == p.__slots__ == ("x", "y") and Point3.__slots__ == ("z",)
assert Point.__match_args__ == ("x", "y")
assert {name: getattr(p, name) for name in p.__slots__} == {"x": 1, "y": 2}
assert Point.__module__ == p.__module__ == "__main__" and int.__module__ == "builtins"
assert Point3.__base__ is Point and Point.__base__ is object and bool.__base__ is int
assert bool.__mro__ == (bool, int, object) and KeyError.__bases__ == (LookupError,)
assert bool.mro() == [bool, int, object] and object.__base__ is None
assert Point.__init__.__defaults__ == (2,) and Point.__init__.__kwdefaults__ == {"z": 3}
assert p.__init__.__self__ is p and p.__init__.__func__ is Point.__init__
assert Point.zero.__self__ is Point


def traced(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args)

    return inner


@traced
def double(n):
    return 2 * n


@functools.lru_cache
def triple(n):
    return 3 * n


assert double.__wrapped__(2) == 4 and double.__name__ == "double" and double(3) == 6
assert triple.__wrapped__(2) == 6 and not hasattr(traced, "__wrapped__")


@dataclass
class Pair:
    a: int
    b: int


assert Pair.__match_args__ == ("a", "b")


class Sized:
    def __sizeof__(self):
        return 100


assert Sized().__sizeof__() == 100 and (5).__sizeof__() > 0

import json
from dataclasses import dataclass, field
from typing import TypedDict


@dataclass
class Item:
    name: str
    tags: list = field(default_factory=list)


class Options(TypedDict, total=False):
    colour: str


assert list(Item.__dataclass_fields__) == ["name", "tags"] and hasattr(Item("a"), "__dataclass_fields__")
assert Item.__dataclass_fields__["name"].type is str
assert Options.__total__ is False and Options.__optional_keys__ == {"colour"}
assert json.__name__ == "json"
