"""Get the real `str.format` by a positional pattern of a dataclass with slots."""

# stopped: raises TypeError
# because: accepts 0 positional sub-patterns

from dataclasses import dataclass
from typing import Sized
class Text(Sized):
    format: object = None
    def __len__(self): return 0
Text.register(str)
dataclass(Text, slots=True)
match "{0.__class__}":
    case Text(found): take(found)
