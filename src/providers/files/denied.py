"""What the `files` scope denies inside its allowed directories: `"denylist": ["**/.env"]`.

A pattern is relative to each allowed directory. It denies what it matches and everything beneath
that. The scope judges the text of a path, before the call. The provider judges the place where the
path leads when it is opened, with links followed, because a link may have an innocent name. A hard
link is another name of the same file, and cannot be told from it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from caps.capabilities.patterns import glob_matches
from caps.providers.files.path_text import Parts, components


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


def _location(descriptor: int) -> Parts:
    return components(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
