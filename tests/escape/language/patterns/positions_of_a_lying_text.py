"""Name positions by a `str` subclass that shows the check and the pattern different values."""

# stopped: raises TypeError
# because: Running() accepts 0 positional sub-patterns (1 given)

from abc import ABC
from collections.abc import Generator

class Name(str):
    def startswith(self, *prefixes): return False
    def __eq__(self, other): return False
    def __hash__(self): return 0

class Running(ABC):
    __match_args__ = (Name("gi_frame"),)

Running.register(Generator)
match (n for n in ()):
    case Running(frame):
        take(frame)
