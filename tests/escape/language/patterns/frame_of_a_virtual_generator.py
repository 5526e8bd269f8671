"""Read a frame by position, with a class that generators are registered for."""

# stopped: raises TypeError
# because: Running() accepts 0 positional sub-patterns (1 given)

from abc import ABC
from collections.abc import Generator

class Running(ABC):
    __match_args__ = ("gi_frame",)

Running.register(Generator)
match (n for n in ()):
    case Running(frame):
        take(frame)
