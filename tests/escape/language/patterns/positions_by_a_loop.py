"""Bind the positions in a class body by a loop."""

# stopped: raises TypeError
# because: Running() accepts 0 positional sub-patterns (1 given)

from abc import ABC
from collections.abc import Generator

class Running(ABC):
    for __match_args__ in [("gi_frame",)]:
        pass

Running.register(Generator)
match (n for n in ()):
    case Running(frame):
        take(frame)
