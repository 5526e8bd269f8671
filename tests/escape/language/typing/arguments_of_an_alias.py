"""Get the real `type` from the arguments of an alias."""

# stopped: harmless

import collections.abc
import typing

take(typing.Type[type].__args__)
take(typing.Union[type, int].__args__)
take((type | None).__args__)
take(list[type].__args__)
take(typing.Annotated[type, type].__metadata__)
take(collections.abc.Callable[[type], type].__args__)
