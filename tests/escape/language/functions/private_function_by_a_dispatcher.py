"""Evaluate text by a library's private method, which a decorator has copied from its class."""

# stopped: raises AttributeError
# because: `function` has no private attributes

import functools
import typing

reference = typing.get_args(typing.List["__import__('os')"])[0]
wrapper = functools.singledispatch(type(reference))
take(wrapper._evaluate(reference, {}, {}, frozenset()))
