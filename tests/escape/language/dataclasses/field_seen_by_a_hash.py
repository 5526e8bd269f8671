"""Rename a field, whose name becomes code, while the library looks at a default."""

# stopped: raises TypeError
# because: has a descriptor as its `__hash__`

from dataclasses import dataclass, field

class Hash:
    def __get__(self, instance, owner):
        C.a.name = "a, b=None, *, z=take(eval)"
        escaped()
        return 1

class Value:
    __hash__ = Hash()

class C:
    a: int = field(default=1)
    b: object = Value()

dataclass(C)
