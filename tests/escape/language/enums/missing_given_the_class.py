"""Get the real metaclass by the hook for missing values."""

# stopped: harmless

from enum import Enum
class E(Enum):
    A = 1
    @classmethod
    def _missing_(cls, value): take(type(cls)); return cls.A
E(5) and None
