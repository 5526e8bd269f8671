"""Paths of session files: text, and the same rules on both databases. Loads no database library.

- a path is absolute: it starts with `/`, which is the root of the session's own tree;
- it has no `..`, NUL or other control character, and UTF-8 can encode it;
- empty and `.` components are left out: `/a//b/./c/` is `/a/b/c`;
- it is brought into the Unicode form NFC: names that look the same are the same. Case counts;
- a name has at most 255 bytes, a path at most 1,024.
"""

from __future__ import annotations

import unicodedata
from typing import Final

from caps.protocol.text import printable

ROOT: Final = "/"
MAX_PATH_BYTES: Final = 1024
MAX_NAME_BYTES: Final = 255


def normalised(path: str) -> str:
    """The one form of `path` that is stored. Raises ValueError with a line for people."""
    if len(path) > MAX_PATH_BYTES * 4:  # before anything takes time in its length
        raise ValueError(f"`{printable(path, 60)}` is longer than {MAX_PATH_BYTES} bytes")
    shown = printable(path)
    if not path.startswith(ROOT):
        raise ValueError(f"`{shown}` is not absolute; start it with `/`")
    composed = unicodedata.normalize("NFC", path)
    parts = [part for part in composed.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ValueError(f"`{shown}` has `..`; write the path without it")
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in path):
        raise ValueError(f"`{shown}` has a control character or half of a surrogate pair")
    if any(len(part.encode()) > MAX_NAME_BYTES for part in parts):
        raise ValueError(f"`{shown}` has a name of more than {MAX_NAME_BYTES} bytes")
    whole = ROOT + "/".join(parts)
    if len(whole.encode()) > MAX_PATH_BYTES:
        raise ValueError(f"`{shown}` is longer than {MAX_PATH_BYTES} bytes")
    return whole


def depth_of(path: str) -> int:
    """The number of names in a normalised path; 0 for the root."""
    return 0 if path == ROOT else path.count("/")


def name_of(path: str) -> str:
    """The last name of a normalised path; empty for the root."""
    return path.rpartition("/")[2]


def parent_of(path: str) -> str:
    """The directory that a normalised path is in; the root is in itself."""
    return path.rpartition("/")[0] or ROOT


def ancestors_of(path: str) -> tuple[str, ...]:
    """The directories above a normalised path, the nearest last, without the root."""
    parts = path.split("/")[1:-1]
    return tuple("/" + "/".join(parts[: depth + 1]) for depth in range(len(parts)))
