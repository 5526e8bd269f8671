"""Get the real `str.format` by a protocol that every string fulfils."""

# stopped: harmless

from dataclasses import dataclass
from typing import Protocol, runtime_checkable
@runtime_checkable
@dataclass
class P(Protocol):
    format: object
try:
    match "{0.__class__}":
        case P(found): take(found)
except TypeError:
    pass
