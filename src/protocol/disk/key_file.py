"""A key file: created once, complete, and readable by its owner only.

It is written under another name and then linked into place. So it is complete or absent, and of
several processes that start concurrently exactly one creates it; the others read it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final

from caps.protocol.disk.regular_files import create_synced, read_regular, sync_directory

MAX_KEY_BYTES: Final = 1024 * 1024
"""The largest file that is read as a key, or as several public ones."""


def read_or_create(path: Path, make: Callable[[], bytes], *, mode: int = 0o600) -> bytes:
    """Return the content of `path`; create it with `make()` if absent. Raises `OSError`."""
    try:
        return read_regular(path, MAX_KEY_BYTES)
    except FileNotFoundError:
        pass
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        create_synced(draft, make(), mode)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # another process was first, and its key is used
        else:
            sync_directory(path.parent)
    finally:
        draft.unlink(missing_ok=True)
    return read_regular(path, MAX_KEY_BYTES)
