# `Enum("Color", "RED GREEN")`
from enum import Enum, Flag, IntEnum

Color = Enum("Color", "RED GREEN")
assert [one.name for one in Color] == ["RED", "GREEN"]
assert Color.RED.value == 1
assert repr(Color.GREEN) == "<Color.GREEN: 2>"
Level = IntEnum("Level", {"LOW": 5, "HIGH": 7})
assert Level.LOW + 1 == 6
Word = Enum("Word", [("YES", "y"), ("NO", "n")], type=str)
assert Word.YES == "y"
Right = Flag("Right", ["READ", "WRITE"])
assert Right.READ | Right.WRITE == Right(3)
