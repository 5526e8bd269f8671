"""The same by the alias that was not subscripted."""

# stopped: raises AttributeError
# because: `mro` is not accessible in the sandbox

import typing
take(typing.Type.mro(int))
escaped()
