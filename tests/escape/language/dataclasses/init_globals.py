"""Read the globals of a generated method."""

# stopped: refused
# because: reaches into the interpreter

from dataclasses import dataclass
@dataclass
class C:
    x: int = 1
take(getattr(C.__init__, "__globals__"))
