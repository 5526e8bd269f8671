"""(4) What a provider's object becomes in user space: a read-only record.

`r.content` and `r["content"]` both work, nested objects are records, `dict(r)` is a plain dict. A
key that is also the name of a dict method (`items`, `keys`, …) is reached as `r["items"]`.
"""

from __future__ import annotations

import copy
import difflib
from typing import Any, NoReturn


class Record(dict[str, Any]):
    """A mapping that cannot be changed and also answers to attributes."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            # A library that asks an object for a hook must not get an item for an answer.
            raise AttributeError(f"the record has no `{name}`")
        try:
            return self[name]
        except KeyError:
            near = difflib.get_close_matches(name, self, n=1)
            held = ", ".join(self) or "nothing"
            hint = f"; did you mean `{near[0]}`?" if near else f"; it has {held}"
            raise AttributeError(f"the record has no `{name}`{hint}") from None

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
        # A record may hold lists, which can be changed.
        return Record({name: copy.deepcopy(value, memo) for name, value in self.items()})


def record_of(value: Any) -> Any:
    """JSON-like data with every object in it as a record."""
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
