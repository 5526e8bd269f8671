"""How much one policy allows compared to another: a partial order with four values.

`MIXED` does not mean "unclear": it means more in one respect and less in another, or different in a
way that cannot be compared. A check that must not accept a wider policy treats it as wider.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable


class Breadth(enum.StrEnum):
    """What the newer of two policies allows, compared to the older."""

    SAME = "same"
    WIDER = "wider"
    NARROWER = "narrower"
    MIXED = "mixed"

    @property
    def more(self) -> bool:
        """Whether the newer allows something that the older refuses."""
        return self in (Breadth.WIDER, Breadth.MIXED)

    @property
    def less(self) -> bool:
        """Whether the newer refuses something that the older allows."""
        return self in (Breadth.NARROWER, Breadth.MIXED)


def width_of(*, more: bool, less: bool) -> Breadth:
    """The breadth of the newer policy, given whether it allows more and whether it allows less."""
    if more:
        return Breadth.MIXED if less else Breadth.WIDER
    return Breadth.NARROWER if less else Breadth.SAME


def join(widths: Iterable[Breadth]) -> Breadth:
    """The breadth of a whole from the breadths of its parts."""
    found = tuple(widths)
    return width_of(more=any(w.more for w in found), less=any(w.less for w in found))
