# every enum is an `Enum`
from enum import Enum, Flag, IntEnum, IntFlag, StrEnum


class Level(IntEnum):
    LOW = 1


class Word(StrEnum):
    YES = "y"


class Right(IntFlag):
    READ = 1


class Color(Enum):
    RED = 1


for member in (Level.LOW, Word.YES, Right.READ, Color.RED):
    assert isinstance(member, Enum)
assert isinstance(Right.READ, Flag)
assert not isinstance(Color.RED, (Level, Flag, IntEnum))
assert issubclass(IntEnum, Enum) and issubclass(IntFlag, Flag) and not issubclass(Enum, IntEnum)
