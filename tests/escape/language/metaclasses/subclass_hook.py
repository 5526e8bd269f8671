"""Define what counts as a subclass."""

# stopped: refused
# because: `__subclasshook__` reaches into the interpreter

from abc import ABC
class C(ABC):
    @classmethod
    def __subclasshook__(cls, other): take(other); return True
