"""The code in an answer of a model that is Markdown."""

from __future__ import annotations

_FENCES = ("```", "~~~")
_PYTHON = ("", "py", "python", "python3")


def strip_fences(text: str) -> str:
    """The code between Markdown fences: all blocks of Python, one after the other.

    Text that does not begin with a fence is Markdown only if a fence names Python: a program may
    have fences of its own inside a string. A text without fences is returned as it is.
    """
    lines = text.splitlines(keepends=True)
    first = next((line for line in lines if line.strip()), "")
    named = any(_language(line) in _PYTHON[1:] for line in lines)
    if _language(first) is None and not named:
        return text
    blocks = _blocks(lines)
    return "".join(blocks) if blocks else text


def _language(line: str) -> str | None:
    """The language that an opening fence names, empty if it names none; None without a fence."""
    found = line.strip()
    if not found.startswith(_FENCES):
        return None
    return found.lstrip(found[0]).strip().lower()


def _blocks(lines: list[str]) -> list[str]:
    """The lines of the blocks of Python; the last one may lack its closing fence."""
    kept: list[str] = []
    fence, is_python = "", False
    for line in lines:
        found = line.strip()
        if not fence:
            language = _language(line)
            if language is not None:
                fence, is_python = _marks(found), language in _PYTHON
        elif _language(line) == "" and found.startswith(fence):
            fence = ""
        elif is_python:
            kept.append(line)
    return kept


def _marks(fence: str) -> str:
    """The marks at the start of a fence; its end has at least as many."""
    return fence[: len(fence) - len(fence.lstrip(fence[0]))]
