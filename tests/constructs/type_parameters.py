# type parameters of classes and functions, and `type` aliases (from Python 3.12 on)
class Stack[T]:
    def __init__(self) -> None:
        self._items: list[T] = []

    def push(self, item: T) -> "Stack[T]":
        self._items.append(item)
        return self

    def pop(self) -> T:
        return self._items.pop()


def first[T: (int, str)](items: list[T]) -> T:
    return items[0]


def call[**P, R](function, *args: P.args, **options: P.kwargs) -> R:
    return function(*args, **options)


def bundle[*Ts](*values: *Ts) -> tuple[*Ts]:
    return values


type Pair[A] = tuple[A, A]
type Tree = dict[str, Tree] | None

assert Stack[int]().push(1).push(2).pop() == 2
assert first([1, 2]) == 1 and call(max, 1, 2) == 2 and bundle(1, "a") == (1, "a")
assert repr(Pair) == "Pair" and repr(Tree) == "Tree" and repr(Pair[int]) == "Pair[int]"


class Numbered[T: int](Stack[T]):
    pass


assert Numbered().push(3).pop() == 3 and issubclass(Numbered, Stack)
