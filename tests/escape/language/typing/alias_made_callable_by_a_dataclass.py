"""The same by the `__init__` of a dataclass."""

# stopped: raises TypeError
# because: a `Mine` was due, not a `_GenericAlias`

import typing
from dataclasses import dataclass

@dataclass
class Mine:
    _inst: bool

Mine.__init__(typing.Type[int], True)
take(typing.Type[int]("X", (), {}))
escaped()
