"""(4) Our own classes that user code can get: it can use them, but neither change nor extend them.

Subclassing is refused when a class statement ends, in `language/guards.py`.
"""

from __future__ import annotations

from typing import Any, NoReturn


class Sealed(type):
    """The metaclass of such a class."""

    def __setattr__(cls, name: str, _value: Any) -> NoReturn:
        raise TypeError(f"`{name}` cannot be set on `{cls.__name__}`")

    def __delattr__(cls, name: str) -> NoReturn:
        raise TypeError(f"`{name}` cannot be deleted from `{cls.__name__}`")

    def __repr__(cls) -> str:
        shown_in = "asyncio." if ".aio." in cls.__module__ else ""
        return f"<class '{shown_in}{cls.__name__}'>"
