"""Parts of lists."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")


class Page(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A part of a list. `next_cursor` is None on the last one."""

    items: tuple[T, ...]
    next_cursor: str | None = None
