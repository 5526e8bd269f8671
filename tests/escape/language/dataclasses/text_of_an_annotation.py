"""Have an annotation that is text evaluated."""

# stopped: harmless

from dataclasses import dataclass

@dataclass
class C:
    a: "escaped()"
    b: "typing.ClassVar[escaped()]" = 1
    c: "dataclasses.InitVar[__import__('os')]" = 1
C(1)
None
