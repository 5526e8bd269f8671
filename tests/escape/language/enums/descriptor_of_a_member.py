"""Take the descriptor of a member out of its class, and have it read any attribute of any object."""

# stopped: raises KeyError
# because: 'shown'

import enum

class Descriptor:
    fget = fset = fdel = None
    def __get__(self, one, owner=None): return self

class Mixin:
    shown = Descriptor()

class E(Mixin, enum.Enum):
    shown = 1
    OTHER = 2

descriptor = vars(E)["shown"]
descriptor.name = "__globals__"
E.OTHER._value_ = print
take(E.OTHER.shown)
