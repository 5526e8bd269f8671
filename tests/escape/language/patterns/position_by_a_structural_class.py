"""Read the frame of a traceback by position, with a protocol that every object fulfils."""

# stopped: harmless or raises TypeError

from typing import Protocol, runtime_checkable

@runtime_checkable
class Anything(Protocol):
    __match_args__ = ("tb_frame",)
    def __repr__(self): ...

try:
    1 / 0
except ZeroDivisionError as error:
    match error.__traceback__:
        case Anything(frame):
            take(frame)
