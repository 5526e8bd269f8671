"""Inherit positions from a named tuple whose fields are named like those of a generator."""

# stopped: raises TypeError
# because: Running() accepts 0 positional sub-patterns (1 given)

from abc import ABC
from collections.abc import Generator
from typing import NamedTuple

Fields = NamedTuple("Fields", [("gi_frame", int)])

class Running(Fields, ABC): pass

Running.register(Generator)
match (n for n in ()):
    case Running(frame):
        take(frame)
