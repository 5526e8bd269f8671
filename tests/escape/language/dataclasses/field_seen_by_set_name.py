"""See the real fields in `__set_name__`, which runs again when slots create the class again."""

# stopped: harmless

from dataclasses import dataclass, field

class Default:
    def __set_name__(self, owner, name):
        take(owner.__dict__)
        for held in owner.__dict__.values():
            if hasattr(held, "default_factory") and not hasattr(held, "_fields"):
                escaped()

@dataclass(slots=True)
class C:
    first: int = field(default=1)
    other = Default()
