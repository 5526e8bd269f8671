"""(8) The key files of a log directory: made once, whole, and readable by their owner only.

A key appears under its name complete or not at all: it is written beside, then linked into place,
so that of several processes that start at once exactly one makes it and the rest read that one.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final

from caps.protocol.errors import AuditError
from caps.security.audit.files.regular_files import read_regular

REDACTION_KEY: Final = "redaction.key"
SIGNING_KEY: Final = "signing.key"
SIGNING_PUB: Final = "signing.pub"

_KEY_BYTES: Final = 32


def read_or_create(path: Path, make: Callable[[], bytes], *, mode: int = 0o600) -> bytes:
    """The content of `path`, which gets that of `make()` if it does not exist. Raises `OSError`."""
    try:
        return read_regular(path)
    except FileNotFoundError:
        pass
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(make())
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # another process was first; its key is the key
        else:
            sync_directory(path.parent)
    finally:
        draft.unlink()
    return read_regular(path)


def redaction_key(directory: Path) -> bytes:
    """The key of the log's digests. Raises `OSError`, or `AuditError` if the file is not a key."""
    path = directory / REDACTION_KEY
    content = read_or_create(path, lambda: secrets.token_hex(_KEY_BYTES).encode() + b"\n")
    return _parsed(path, content)


def existing_redaction_key(directory: Path) -> bytes:
    """The same for those who only read: a log without a key stays without one.

    Raises `AuditError`.
    """
    path = directory / REDACTION_KEY
    try:
        return _parsed(path, read_regular(path))
    except OSError as error:
        raise AuditError(f"cannot read the log's key `{path}`: {error.strerror}") from error


def _parsed(path: Path, content: bytes) -> bytes:
    try:
        key = bytes.fromhex(content.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise AuditError(f"`{path}` is not a key of {_KEY_BYTES} bytes in hexadecimal")
    return key


def sync_directory(directory: Path) -> None:
    """Makes new names in `directory` survive a power cut. Raises `OSError`."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
