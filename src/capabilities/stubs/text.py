"""Text of capability authors, put into Python source so that it stays text."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

_SHOWN_CHARACTERS = 400


def one_line(text: str) -> str:
    """`text` in one line of printable characters, cut where it grows too long for a prompt."""
    line = _printable(" ".join(text.split()))
    return line if len(line) <= _SHOWN_CHARACTERS else line[: _SHOWN_CHARACTERS - 1] + "…"


def comment(note: str) -> str:
    """`note` as a comment behind code; empty if there is none."""
    if not note:
        return ""
    # A comment that begins with `type:` means something to type checkers.
    return f"  # ({note})" if note.startswith("type") else f"  # {note}"


def docstring(parts: Iterable[str]) -> list[str]:
    """The lines of a docstring with these parts, quotes and all; none if there is no text."""
    lines = [line for part in parts for line in _lines(part)]
    if not lines:
        return []
    if len(lines) == 1 and not lines[0].endswith('"'):
        return [f'"""{lines[0]}"""']
    return [f'"""{lines[0]}', *lines[1:], '"""']


def _lines(text: str) -> list[str]:
    clean = inspect.cleandoc(text).strip()
    return [_escaped(line.rstrip()) for line in clean.split("\n")] if clean else []


def _escaped(line: str) -> str:
    return _printable(line).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


def _printable(text: str) -> str:
    """`text` with every character that is not printable as its escape."""
    if text.isprintable():
        return text
    return "".join(
        mark if mark.isprintable() else mark.encode("unicode_escape").decode("ascii")
        for mark in text
    )
