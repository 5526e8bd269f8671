"""Evaluate text as code by the bound of a variable."""

# stopped: harmless

from typing import TypeVar
T = TypeVar("T", bound="escaped()")
class C: pass
repr(T) and None
