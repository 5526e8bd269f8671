"""Rename a cached property of a kind of its own."""

# stopped: raises TypeError
# because: cannot be a base class here

from functools import cached_property
class P(cached_property): pass
P(print)._name = '__reduce_ex__'
escaped()
