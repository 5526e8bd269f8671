"""(4) Classes of ours that user code holds: it can use them, and neither change nor extend them.

Extending is refused where class statements end, in `guards`.
"""

from __future__ import annotations

from typing import Any, NoReturn


class Sealed(type):
    """The type of such a class."""

    def __setattr__(cls, name: str, _value: Any) -> NoReturn:
        raise TypeError(f"`{name}` cannot be set on `{cls.__name__}`")

    def __delattr__(cls, name: str) -> NoReturn:
        raise TypeError(f"`{name}` cannot be deleted from `{cls.__name__}`")

    def __repr__(cls) -> str:
        shown_in = "asyncio." if ".aio." in cls.__module__ else ""
        return f"<class '{shown_in}{cls.__name__}'>"
