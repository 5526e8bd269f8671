"""Say that a library's class is from the program itself, by a method that sets `__module__`."""

# stopped: raises TypeError
# because: a `NewType` was due, not a `type`

import typing

class Descriptor:
    def __set_name__(self, owner, name): pass

typing.NewType.__init__(type(secret), "Secret", int)
Descriptor().__set_name__(type(secret), "x")
if secret._hidden == "loot":
    escaped()
