"""The same with the default in a field."""

# stopped: raises TypeError
# because: has a descriptor as its `__hash__`

from dataclasses import dataclass, field

class Hash:
    def __get__(self, instance, owner): C.a.name, _ = "x", escaped()

class Value:
    __hash__ = Hash()

class C:
    a: object = field(default=Value())

dataclass(C)
