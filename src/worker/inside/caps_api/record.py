"""(4) `Record`: a provider's object in user space, read-only.

`r.content` and `r["content"]` both work, nested objects are records, `dict(r)` is a plain dict. A
key that is also the name of a dict method (`items`, `keys`, …) is reached as `r["items"]`.
"""

from __future__ import annotations

import copy
from typing import Any, NoReturn

from caps.protocol.text import did_you_mean

_MAX_LISTED = 16


class Record(dict[str, Any]):
    """A read-only mapping whose items are also attributes."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            # A library that looks up a special method must not get an item.
            raise AttributeError(f"the record has no `{name}`")
        try:
            return self[name]
        except KeyError:
            known = ", ".join(self) or "nothing"
            hint = did_you_mean(name, self, max_characters=None) or f"; it has {known}"
            raise AttributeError(f"the record has no `{name}`{hint}") from None

    def __missing__(self, key: Any) -> NoReturn:
        # The error keeps the key alone, as that of a dict; code may use it.
        error = KeyError(key)
        more = ", …" if len(self) > _MAX_LISTED else ""
        error.add_note(f"the record has {', '.join([*self][:_MAX_LISTED]) or 'nothing'}{more}")
        raise error

    def _read_only(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise TypeError("a record is read-only; change a copy, `dict(record)`")

    __setitem__ = __delitem__ = __setattr__ = __delattr__ = __ior__ = _read_only
    clear = pop = popitem = setdefault = update = _read_only

    def __dir__(self) -> list[str]:
        return sorted([*self, *(name for name in dir(dict) if not name.startswith("_"))])

    def __repr__(self) -> str:
        return f"Record({', '.join(f'{name}={value!r}' for name, value in self.items())})"

    def __copy__(self) -> Record:
        return self

    def __deepcopy__(self, memo: Any) -> Record:
        # A record may hold lists, which are mutable.
        return Record({name: copy.deepcopy(value, memo) for name, value in self.items()})


def record_of(value: Any) -> Any:
    """`value`, which is JSON-like data, with every object in it as a record."""
    if isinstance(value, dict):
        return Record(
            {
                name: record_of(item) if isinstance(item, (dict, list)) else item
                for name, item in value.items()
            }
        )
    if isinstance(value, list):
        return [record_of(item) for item in value]
    return value
