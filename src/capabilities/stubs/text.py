"""Text of capability authors, escaped so that it stays text inside Python source."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

from caps.protocol.text import escape_unprintable

_SHOWN_CHARACTERS = 400


def one_line(text: str) -> str:
    """`text` in one line of printable characters, cut if it is too long for a prompt."""
    line = escape_unprintable(" ".join(text.split()))
    return line if len(line) <= _SHOWN_CHARACTERS else line[: _SHOWN_CHARACTERS - 1] + "…"


def comment(note: str) -> str:
    """`note` as a comment behind code; empty if there is none."""
    if not note:
        return ""
    # A comment that begins with `type:` has a meaning for type checkers.
    return f"  # ({note})" if note.startswith("type") else f"  # {note}"


def docstring(parts: Iterable[str]) -> list[str]:
    """The lines of a docstring with these parts, including the quotes; none without text."""
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
    return escape_unprintable(line).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
