"""Text in messages: what comes from elsewhere is made fit to print, and hints suggest a name.

`cli.run` does not use it for what a program prints: output keeps its line breaks and tabs, and a
replacement character stands for everything else that is not printable.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_MAX_SHOWN_CHARACTERS = 200
# Two names of 64 characters and a dot: the longest name of a capability.
_MAX_COMPARED_CHARACTERS = 129


def escape_unprintable(text: str) -> str:
    """`text` with every character that is not printable as its escape, `\\x1b` for instance."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def printable(text: str, max_characters: int = _MAX_SHOWN_CHARACTERS) -> str:
    """`text` for a message: escaped as above, and cut after `max_characters`."""
    shown = escape_unprintable(text[: max_characters + 1])
    return shown if len(shown) <= max_characters else f"{shown[:max_characters]}…"


def nearest(
    text: str,
    known: Iterable[str],
    *,
    cutoff: float = 0.6,
    max_characters: int | None = _MAX_COMPARED_CHARACTERS,
) -> str | None:
    """The known name that `text` was most likely meant to be; None if none is close.

    Equally close names give the same answer in every process: the last in alphabetical order.
    `cutoff` is the similarity, from 0 to 1, that a name needs. Comparing two names takes time in
    the product of their lengths, and `text` may come from untrusted code: a longer one than
    `max_characters` is not compared. The worker, which spends only its own time, sets no bound.
    """
    if max_characters is not None and len(text) > max_characters:
        return None
    close = difflib.get_close_matches(text, known, n=1, cutoff=cutoff)
    return close[0] if close else None


def did_you_mean(
    text: str,
    known: Iterable[str],
    *,
    cutoff: float = 0.6,
    max_characters: int | None = _MAX_COMPARED_CHARACTERS,
) -> str:
    """The end of a message that suggests the `nearest` name; empty if none is close."""
    found = nearest(text, known, cutoff=cutoff, max_characters=max_characters)
    return f"; did you mean `{found}`?" if found else ""
