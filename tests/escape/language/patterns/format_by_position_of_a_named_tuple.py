"""Get the real `str.format` by a positional pattern of a named tuple."""

# stopped: raises TypeError
# because: accepts 0 positional sub-patterns

from collections import namedtuple
from typing import Sized
class Text(namedtuple("N", "format"), Sized): pass
Text.register(str)
match "{0.__class__}":
    case Text(found): take(found)
