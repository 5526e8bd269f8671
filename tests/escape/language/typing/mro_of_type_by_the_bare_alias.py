"""The same by the alias that was not subscripted."""

# stopped: raises AttributeError
# because: `mro` is not shown

import typing
take(typing.Type.mro(int))
escaped()
