"""Read the dictionary of a method that a library made."""

# stopped: raises AttributeError
# because: a `function` does not show its `__dict__`

from dataclasses import dataclass
@dataclass
class C:
    a: int
C.__init__.__dict__
