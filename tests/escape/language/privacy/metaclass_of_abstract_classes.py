"""Swap what an abstract class keeps about its subclasses for that of a library's."""

# stopped: raises AttributeError
# because: `ABCMeta` has no private attributes

from abc import ABCMeta
from collections.abc import Mapping

class C(metaclass=ABCMeta): pass
C._abc_impl = Mapping._abc_impl
escaped()
