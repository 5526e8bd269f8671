"""Name a field `__class__`."""

# stopped: refused
# because: reaches into the interpreter

from dataclasses import dataclass
@dataclass
class C:
    __class__: int
escaped()
