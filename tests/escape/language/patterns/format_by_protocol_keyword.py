"""Get the real `str.format` by a keyword pattern of a protocol."""

# stopped: refused
# because: a pattern cannot read the attribute `format`

from typing import Protocol, runtime_checkable
@runtime_checkable
class P(Protocol):
    format: object
match "{0.__class__}":
    case P(format=found): take(found)
