"""Call the method that calls what an alias represents."""

# stopped: raises TypeError
# because: Type Type cannot be instantiated; use type() instead

import typing
take(type(typing.List[int]).__call__(typing.Type[int], "X", (), {}))
escaped()
