"""Read the code of a coroutine by position, with a class that coroutines are registered for."""

# stopped: raises TypeError
# because: Running() accepts 0 positional sub-patterns (1 given)

from abc import ABCMeta
from collections.abc import Coroutine

class Running(metaclass=ABCMeta):
    __match_args__ = ("cr_code",)

Running.register(Coroutine)
async def nothing(): pass
waiting = nothing()
try:
    match waiting:
        case Running(code):
            take(code)
finally:
    waiting.close()
