"""The same with the descriptor in a base class."""

# stopped: raises TypeError
# because: the field `second` cannot have a descriptor as its default

from dataclasses import dataclass, field

class Between:
    def __get__(self, instance, owner):
        found = owner.first
        if not hasattr(found, "_fields"):
            found.name = "first=escaped()"
        return 1

class Base:
    second = Between()

@dataclass
class C(Base):
    first: int = field(default=1)
    second: int
C()
