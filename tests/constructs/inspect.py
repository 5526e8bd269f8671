# `inspect`
import inspect
from dataclasses import dataclass


def f(a, /, b: int = 2, *args, c, d: str = "x", **rest) -> bool:
    """Says something.

    More.
    """


class C:
    def __init__(self, x, y=1):
        self.x = x

    def method(self, n):
        return n


@dataclass
class D:
    name: str
    age: int = 3


signature = inspect.signature(f)
assert str(signature) == "(a, /, b: int = 2, *args, c, d: str = 'x', **rest) -> bool"
assert list(signature.parameters) == ["a", "b", "args", "c", "d", "rest"]
b = signature.parameters["b"]
assert (b.name, b.default, b.annotation, b.kind) == ("b", 2, int, inspect.Parameter.POSITIONAL_OR_KEYWORD)
assert signature.parameters["a"].default is inspect.Parameter.empty
assert signature.return_annotation is bool
assert str(inspect.signature(C)) == "(x, y=1)" and str(inspect.signature(C(1).method)) == "(n)"
assert list(inspect.signature(D).parameters) == ["name", "age"]
bound = inspect.signature(C).bind(5)
bound.apply_defaults()
assert bound.arguments == {"x": 5, "y": 1}
bound = signature.bind(1, 2, 3, c=4, e=5)
assert (bound.args, bound.kwargs) == ((1, 2, 3), {"c": 4, "e": 5})
try:
    signature.bind()
    raise AssertionError
except TypeError as error:
    assert "missing a required" in str(error)
assert inspect.getdoc(f) == "Says something.\n\nMore."
assert inspect.isfunction(f) and inspect.isclass(C) and inspect.ismethod(C(1).method)


async def g():
    pass


assert inspect.iscoroutinefunction(g) and not inspect.iscoroutinefunction(f)
assert [name for name, value in inspect.getmembers(C(1), inspect.ismethod) if name[0] != "_"] == ["method"]


class Empty: ...


class Callable:
    def __call__(self, x, y=1): ...


import functools

assert str(inspect.signature(Empty)) == "()" and str(inspect.signature(Callable())) == "(x, y=1)"
assert str(inspect.signature(functools.partial(lambda a, b: a, 1))) == "(b)"
