"""Rename a field, which is code, in a descriptor that runs while the class is made."""

# stopped: raises TypeError
# because: the field `second` cannot have a descriptor as its default

from dataclasses import dataclass, field

class Between:
    def __get__(self, instance, owner):
        found = owner.first
        if not hasattr(found, "_fields"):
            found.name = "first=escaped()"
        return 1

@dataclass
class C:
    first: int = field(default=1)
    second: int = Between()
C()
