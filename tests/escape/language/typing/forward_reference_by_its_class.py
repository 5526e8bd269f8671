"""Evaluate a string by the class of a forward reference."""

# stopped: raises AttributeError
# because: `ForwardRef` has no private attributes

import typing
(reference, _) = typing.get_args(typing.Optional["escaped()"])
reference._evaluate({}, {}, frozenset())
