"""(8) The key files of a log directory."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Final

from caps.protocol.disk.key_file import MAX_KEY_BYTES, read_or_create
from caps.protocol.disk.regular_files import read_regular
from caps.protocol.errors import AuditError

REDACTION_KEY: Final = "redaction.key"
SIGNING_KEY: Final = "signing.key"
SIGNING_PUB: Final = "signing.pub"

_KEY_BYTES: Final = 32


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
