"""Evaluate a text by the class of what stands for it."""

# stopped: raises AttributeError
# because: `ForwardRef` has no private attributes

import typing
(reference, _) = typing.get_args(typing.Optional["escaped()"])
reference._evaluate({}, {}, frozenset())
