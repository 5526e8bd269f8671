"""Rename a field while the class is being made, from an option."""

# stopped: raises AttributeError
# because: can't set attribute

from dataclasses import dataclass, field
class Option:
    def __bool__(self):
        A.x.name = "x or self.found(__import__('os'))"
        return True
class A:
    x: int = field(default=0)
    def found(self, module):
        take(module)
dataclass(A, eq=False, repr=Option())
repr(A())
