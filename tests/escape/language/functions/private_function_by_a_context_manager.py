"""The same by the decorator of context managers."""

# stopped: raises AttributeError
# because: `function` has no private attributes

import contextlib
import typing

reference = typing.get_args(typing.List["__import__('os')"])[0]
wrapper = contextlib.contextmanager(type(reference))
take(wrapper._evaluate(reference, {}, {}, frozenset()))
