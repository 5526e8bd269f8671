"""Rename a cached property by its private attribute."""

# stopped: raises AttributeError
# because: has no private attributes

from functools import cached_property
cached_property(print)._name = 'x'
escaped()
