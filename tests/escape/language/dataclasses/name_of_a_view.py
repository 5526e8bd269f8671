"""Have every field tell a harmless name, so that the methods of a dataclass accept any object."""

# stopped: raises TypeError
# because: a `C` was due, not a `_GenericAlias`

import dataclasses
import typing

view = type(dataclasses.field())
original = view.name
view.name = "harmless"
try:
    @dataclasses.dataclass
    class C:
        _inst: bool = True
finally:
    view.name = original

alias = typing.Type[bytes]
C.__init__(alias, True)
made = alias("Made", (), {"__getattribute__": lambda self, name: name})
if made().__name__ == "__name__":
    escaped()
