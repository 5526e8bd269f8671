"""Make an alias of `type` one that can be called, by the `__init__` of a namespace."""

# stopped: raises TypeError
# because: a `SimpleNamespace` was due, not a `_GenericAlias`

import typing
from types import SimpleNamespace

SimpleNamespace.__init__(typing.Type[int], _inst=True)
take(typing.Type[int]("X", (), {}))
escaped()
