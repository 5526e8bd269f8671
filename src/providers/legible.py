"""Untrusted text inside a message: it must not break the line, nor flood it."""

from __future__ import annotations

_LONGEST_SHOWN = 200


def legible(text: str) -> str:
    """`text` for a message: one line, no control characters, of bounded length."""
    plain = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:_LONGEST_SHOWN])
    return plain if len(text) <= _LONGEST_SHOWN else f"{plain}…"
