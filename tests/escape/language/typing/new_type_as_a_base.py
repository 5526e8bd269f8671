"""Derive from what `NewType` gives."""

# stopped: raises TypeError
# because: Cannot subclass an instance of NewType. Perhaps you were looking for: `C = NewType('C', N)

from typing import NewType
class C(NewType("N", super)): pass
