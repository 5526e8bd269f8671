"""Change the annotations of a class before it becomes a dataclass."""

# stopped: raises AttributeError
# because: annotations are written in the class

from dataclasses import dataclass
class C:
    a: int = 1
C.__annotations__["b=escaped()"] = int
dataclass(C)()
None
