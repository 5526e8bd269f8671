"""Import a class by the text of an annotation."""

# stopped: harmless

from dataclasses import dataclass
@dataclass
class C:
    x: "escaped()"
    y: "typing.ClassVar[escaped()]" = 1
C(1) and None
