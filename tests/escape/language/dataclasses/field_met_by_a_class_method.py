"""Rename a field while the class is being made, from a class method."""

# stopped: raises TypeError
# because: cannot have a descriptor as its default

from dataclasses import dataclass, field
def look(cls):
    cls.x.name = "x or self.found(__import__('os'))"
@dataclass(eq=False)
class A:
    x: int = field(default=0)
    y: int = classmethod(property(look))
    def found(self, module):
        take(module)
repr(A())
