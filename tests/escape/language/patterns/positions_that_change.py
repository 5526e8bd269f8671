"""Name harmless positions until they are checked, and others afterwards, by a descriptor."""

# stopped: raises TypeError
# because: Running() accepts 0 positional sub-patterns (1 given)

from abc import ABC
from collections.abc import Generator

class Changing:
    asked = 0
    def __get__(self, instance, owner):
        Changing.asked += 1
        return () if Changing.asked == 1 else ("gi_frame",)

class Running(ABC):
    __match_args__ = Changing()

Running.register(Generator)
match (n for n in ()):
    case Running(frame):
        take(frame)
