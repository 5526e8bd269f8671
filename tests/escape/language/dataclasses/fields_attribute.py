"""Read the real fields of a dataclass."""

# stopped: refused
# because: reaches into the interpreter

from dataclasses import dataclass
@dataclass
class C:
    x: int = 1
take(C.__dataclass_fields__)
