"""Have `get_type_hints` evaluate text inside an alias that no guard has seen."""

# stopped: raises AttributeError
# because: `__subclasses__` is shown of your own classes only

import typing
class C:
    x: typing.List['object.__subclasses__.__self__']
escaped(typing.get_type_hints(C))
