"""Evaluate text as code by a forward reference."""

# stopped: raises AttributeError
# because: has no private attributes

from typing import Union
found = Union["__import__('os')"]
take(found._evaluate({}, {}, frozenset()))
