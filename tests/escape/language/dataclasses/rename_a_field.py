"""Run code that is the new name of a field."""

# stopped: raises AttributeError
# because: can't set attribute

from dataclasses import dataclass, fields
@dataclass(eq=False)
class A:
    x: int = 0
    def found(self, module):
        take(module)
fields(A)[0].name = "x or self.found(__import__('os'))"
@dataclass(eq=False)
class B(A): pass
repr(B())
