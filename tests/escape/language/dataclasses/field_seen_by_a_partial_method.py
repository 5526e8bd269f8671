"""The same in a descriptor of the library's that asks one of the user's."""

# stopped: raises TypeError
# because: the field `second` cannot have a descriptor as its default

from dataclasses import dataclass, field
from functools import partialmethod

class Between:
    def __call__(self): pass
    def __get__(self, instance, owner):
        found = owner.first
        if not hasattr(found, "_fields"):
            found.name = "first=escaped()"
        return self

@dataclass
class C:
    first: int = field(default=1)
    second: int = partialmethod(Between())
C()
