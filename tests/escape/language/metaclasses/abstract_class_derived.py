"""Derive from the stand-in for the metaclass of abstract classes."""

# stopped: raises TypeError
# because: `ABCMeta` cannot be a base class here

from abc import ABCMeta
class M(ABCMeta): pass
