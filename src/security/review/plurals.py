"""Counts in sentences."""

from __future__ import annotations


def times(count: int) -> str:
    """`once`, or how many times."""
    return "once" if count == 1 else f"{count} times"


def plural(count: int, noun: str) -> str:
    """`1 call`, `2 calls`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
