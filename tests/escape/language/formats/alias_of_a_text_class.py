"""Get the real `str.format` through the alias of a generic `str` subclass."""

# stopped: raises ValueError
# because: a format cannot read attributes

from typing import Generic, TypeVar
T = TypeVar("T")
class S(str, Generic[T]): pass
take(S[int].format)
S[int].format("{0.real}", 1)
escaped()
