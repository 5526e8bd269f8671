"""Change the annotations of a class before it becomes a dataclass."""

# stopped: harmless

from dataclasses import dataclass
class C:
    a: int = 1
C.__annotations__["b=escaped()"] = int
dataclass(C)()
None
