"""Read the parameters of a class that the code did not define."""

# stopped: raises AttributeError
# because: has no `__parameters__`

import typing

typing.SupportsInt.__parameters__
