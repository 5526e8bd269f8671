"""Numbers in sentences, as people write them."""

from __future__ import annotations


def how_often(count: int) -> str:
    """`once`, or how many times."""
    return "once" if count == 1 else f"{count} times"


def counted(count: int, noun: str) -> str:
    """`1 call`, `2 calls`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
