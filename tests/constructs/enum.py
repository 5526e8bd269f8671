# enum
from enum import Enum, IntEnum, StrEnum, Flag, auto, unique
@unique
class Color(Enum):
    RED = auto()
    BLUE = auto()
    @property
    def lower(self):
        return self.name.lower()
class Level(IntEnum):
    LOW = 1
class Word(StrEnum):
    ONE = auto()
class Perm(Flag):
    R = auto()
    W = auto()
result = (
    Color.RED.lower,
    Color(2).name,
    Color["BLUE"].value,
    [c.name for c in Color],
    Level.LOW + 1,
    f"{Level.LOW}",
    str(Word.ONE),
    Word.ONE == "one",
    (Perm.R | Perm.W).value,
    Perm.R in Perm.R | Perm.W,
    Color.RED._value_,
    2 in Color._value2member_map_,
    isinstance(Color.RED, Enum),
    repr(Color.RED),
)
assert result == ('red', 'BLUE', 2, ['RED', 'BLUE'], 2, '1', 'one', True, 3, True, 1, True, True, '<Color.RED: 1>')
