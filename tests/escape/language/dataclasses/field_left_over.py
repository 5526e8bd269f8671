"""Rename a field that a failed dataclass left behind."""

# stopped: raises AttributeError
# because: no attribute 'x'

from dataclasses import dataclass, field
class A:
    x: int = field(default=0)
    y: int
try:
    dataclass(A)
except TypeError:
    pass
A.x.name = "x or escaped()"
escaped()
