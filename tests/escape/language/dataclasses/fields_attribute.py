"""Take the real fields of a dataclass, or rename the ones that are shown."""

# stopped: raises AttributeError
# because: can't set attribute

from dataclasses import dataclass
@dataclass
class C:
    x: int = 1
take(list(C.__dataclass_fields__.values()))
C.__dataclass_fields__.clear()
shown = C(2).__dataclass_fields__["x"]
if type(shown).__name__ == "Field":
    escaped()
shown.name = "x=take(1),y"
