"""Run code that is the new name of a field, which was kept from its making."""

# stopped: raises AttributeError
# because: can't set attribute

from dataclasses import dataclass, field
kept = field(default=0)
@dataclass(eq=False)
class A:
    x: int = kept
    def found(self, module):
        take(module)
kept.name = "x or self.found(__import__('os'))"
@dataclass(eq=False)
class B(A): pass
repr(B())
