# what: a descriptor of one's own as the default of a dataclass field
# why: it would run in the midst of code that the library makes from the fields
# raises: TypeError: the field `a` cannot have a descriptor as its default
from dataclasses import dataclass


class Constant:
    def __get__(self, instance, owner):
        return 1


@dataclass
class C:
    a: int = Constant()
