"""Read the object of an error as a field of a dataclass."""

# stopped: raises TypeError
# because: `obj` cannot be a field of `E`

from dataclasses import dataclass
@dataclass
class E(AttributeError):
    obj: object = None
escaped()
