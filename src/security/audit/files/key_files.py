"""(8) The key files of a log directory: created once, complete, and readable by their owner only.

A key file is written under another name and then linked into place. So it is complete or absent,
and of several processes that start concurrently exactly one creates it; the others read it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final

from caps.protocol.errors import AuditError
from caps.security.audit.files.regular_files import create_synced, read_regular, sync_directory

REDACTION_KEY: Final = "redaction.key"
SIGNING_KEY: Final = "signing.key"
SIGNING_PUB: Final = "signing.pub"

MAX_KEY_BYTES: Final = 1024 * 1024
"""The largest file that is read as a key, or as several public ones."""

_KEY_BYTES: Final = 32


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


def redaction_key(directory: Path) -> bytes:
    """Return the key of the log's digests; create it if absent.

    Raises `OSError`, or `AuditError` if the file is not a key.
    """
    path = directory / REDACTION_KEY
    content = read_or_create(path, lambda: secrets.token_hex(_KEY_BYTES).encode() + b"\n")
    return _parse(path, content)


def existing_redaction_key(directory: Path) -> bytes:
    """`redaction_key` for readers: it never creates the key. Raises `AuditError`."""
    path = directory / REDACTION_KEY
    try:
        return _parse(path, read_regular(path, MAX_KEY_BYTES))
    except OSError as error:
        raise AuditError(f"cannot read the log's key `{path}`: {error.strerror}") from error


def _parse(path: Path, content: bytes) -> bytes:
    try:
        key = bytes.fromhex(content.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise AuditError(f"`{path}` is not a key of {_KEY_BYTES} bytes in hexadecimal")
    return key
