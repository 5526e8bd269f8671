"""Read a function's globals by position, with a class that functions are registered for."""

# stopped: raises TypeError
# because: Callable() accepts 0 positional sub-patterns (1 given)

from abc import ABC

class Callable(ABC):
    __match_args__ = ("__globals__",)

Callable.register(type(take))
match take:
    case Callable(names):
        take(names)
