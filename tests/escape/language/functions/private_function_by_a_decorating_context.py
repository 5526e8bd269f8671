"""The same by a context manager that is used as a decorator."""

# stopped: raises AttributeError
# because: `function` has no private attributes

import contextlib
import typing

class Context(contextlib.ContextDecorator): pass

reference = typing.get_args(typing.List["__import__('os')"])[0]
wrapper = Context()(type(reference))
take(wrapper._evaluate(reference, {}, {}, frozenset()))
