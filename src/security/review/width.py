"""How much two policies let through, beside each other: a partial order as four words.

`MIXED` is not "unclear": it is more in one respect and less in another, and also what is merely
different and cannot be compared. Whoever must not become wider treats it as wider.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable


class Width(enum.StrEnum):
    """What the newer of two lets through, beside the older."""

    SAME = "same"
    WIDER = "wider"
    NARROWER = "narrower"
    MIXED = "mixed"

    @property
    def more(self) -> bool:
        """Whether the newer lets something through that the older does not."""
        return self in (Width.WIDER, Width.MIXED)

    @property
    def less(self) -> bool:
        """Whether the newer refuses something that the older lets through."""
        return self in (Width.NARROWER, Width.MIXED)


def width_of(*, more: bool, less: bool) -> Width:
    """The width of a newer thing that lets through more, or less, or both."""
    if more:
        return Width.MIXED if less else Width.WIDER
    return Width.NARROWER if less else Width.SAME


def joined(widths: Iterable[Width]) -> Width:
    """The width of a whole whose parts have these."""
    found = tuple(widths)
    return width_of(more=any(w.more for w in found), less=any(w.less for w in found))
