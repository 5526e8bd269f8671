# what: the code's own descriptor as the default of a dataclass field
# why: it would run inside code that the library generates from the fields
# raises: TypeError: the field `a` cannot have a descriptor as its default
from dataclasses import dataclass


class Constant:
    def __get__(self, instance, owner):
        return 1


@dataclass
class C:
    a: int = Constant()
