"""Paths as text: their components, and what `..` makes of them. No IO, and no links."""

from __future__ import annotations

Parts = tuple[str, ...]


def components(path: str) -> Parts:
    """The components of a path, `.` left out."""
    return tuple([part for part in path.split("/") if part and part != "."])


def is_path_text(path: str) -> bool:
    """False for NUL, and for lone surrogates, which no caller outside the host can send."""
    if "\0" in path:
        return False
    return path.isascii() or not any("\ud800" <= c <= "\udfff" for c in path)


def climbs(parts: Parts) -> bool:
    """Whether the path is at some point above its start, even if it comes back."""
    if ".." not in parts:
        return False
    depth = 0
    for part in parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            return True
    return False


def collapsed(parts: Parts) -> Parts:
    """The same path without `..`; it must not climb above its start."""
    kept: list[str] = []
    for part in parts:
        if part == "..":
            kept.pop()
        else:
            kept.append(part)
    return tuple(kept)
