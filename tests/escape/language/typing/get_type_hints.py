"""Evaluate text as code by `typing.get_type_hints`."""

# stopped: raises AttributeError
# because: has no attribute 'get_type_hints'

import typing
typing.get_type_hints
