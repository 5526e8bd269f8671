"""What the `files` scope denies inside its allowed directories: `"denylist": ["**/.env"]`.

A pattern is relative to each allowed directory, also to one that contains another. It denies what
it matches and everything beneath that. The scope judges the text of a path, before the call. The
provider judges the place where the path leads when it is opened, with links followed, because a
link may have an innocent name. A hard link is another name of the same file, and cannot be told
from it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from caps.capabilities.schemas.patterns import glob_matches
from caps.providers.files.path_text import Parts, components

_DELETED: Final = " (deleted)"  # what the kernel adds to the path of an open file without a name


def denying_pattern(patterns: Sequence[str], parts: Parts) -> str | None:
    """The pattern that denies the path, or a directory that contains it."""
    for pattern in patterns:
        if any(glob_matches(pattern, parts[:end]) for end in range(1, len(parts) + 1)):
            return pattern
    return None


def place_beneath(root: int, descriptor: int) -> Parts:
    """Where an opened file or directory is beneath the opened `root`, without links."""
    above, place = _location(root), _location(descriptor)
    if place[: len(above)] != above:
        raise FileNotFoundError(2, os.strerror(2))  # moved or deleted since it was opened
    return place[len(above) :]


def places_beneath(tops: Sequence[Parts], descriptor: int) -> Iterator[Parts]:
    """The same beneath each of the directories `tops` that contain it."""
    place = _location(descriptor)
    return (place[len(top) :] for top in tops if place[: len(top)] == top)


def _location(descriptor: int) -> Parts:
    """Where it is, or was until it was deleted or replaced."""
    found = str(Path(f"/proc/self/fd/{descriptor}").readlink())
    if found.endswith(_DELETED) and not _is_at(found, descriptor):
        found = found.removesuffix(_DELETED)
    return components(found)


def _is_at(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except OSError:
        return False
