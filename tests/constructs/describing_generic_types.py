# `__args__`, `__metadata__`, `__parameters__`, `__orig_bases__` and `__abstractmethods__`
import collections.abc
from abc import ABC, abstractmethod
from typing import Annotated, Callable, Generic, TypeVar
T = TypeVar("T")
class Stack(Generic[T]): pass
class Ints(Stack[int]): pass
class Shape(ABC):
    @abstractmethod
    def area(self): ...
class Square(Shape):
    def area(self): return 1
assert Stack[int].__args__ == (int,) and Callable[[int], str].__args__ == (int, str)
assert collections.abc.Callable[[int], str].__args__ == (int, str)
assert (int | None).__args__ == (int, type(None)) and Annotated[int, 3].__metadata__ == (3,)
assert Stack.__parameters__ == (T,) and list[T].__parameters__ == (T,)
assert Ints.__orig_bases__ == (Stack[int],) and Stack.__orig_bases__ == (Generic[T],)
assert Shape.__abstractmethods__ == {"area"} and not Square.__abstractmethods__
assert getattr(5, "__args__", None) is None
