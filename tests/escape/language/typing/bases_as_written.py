"""Get a library's class, or its metaclass, from the bases as a class statement has them."""

# stopped: raises AttributeError
# because: shown of your own classes only

import collections, typing

class Row(typing.NamedTuple):
    x: int

class Own(typing.Generic[typing.TypeVar("T")], dict[type, type]): pass
take(Own.__orig_bases__)
take(Own.__parameters__)
collections.abc.Mapping.__orig_bases__
