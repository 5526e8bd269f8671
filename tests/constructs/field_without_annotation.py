# a field of a dataclass needs an annotation
from dataclasses import dataclass, field

try:

    @dataclass
    class Point:
        x: int
        y = field(default=0)

    raise AssertionError
except TypeError as error:
    assert str(error) == "'y' is a field but has no type annotation"
