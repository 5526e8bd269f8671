"""Read the globals of a generated method."""

# stopped: raises AttributeError
# because: `__globals__` reaches into the interpreter

from dataclasses import dataclass
@dataclass
class C:
    x: int = 1
take(getattr(C.__init__, "__globals__"))
