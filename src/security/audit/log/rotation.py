"""(8) When a log goes on in a new file, and how an old file is compressed.

Compression is crash-safe by order: the packed copy is written beside (`.gz.part`), synced and read
back, then renamed, then the directory is synced, and only then does the plain file go. A crash in
between leaves the plain file, which readers prefer, and the next run does it again. Only a file
that has a successor is compressed: if the newest file is compressed, its successor is gone.
"""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import itertools
import logging
import os
import shutil
import time
from pathlib import Path
from typing import BinaryIO, Final, Literal

import msgspec

from caps.security.audit.files.key_files import sync_directory
from caps.security.audit.files.reader import segment_paths
from caps.security.audit.files.tail import first_record, read_tail

_CHUNK: Final = 1024 * 1024

logger = logging.getLogger(__name__)


class Rotation(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of one file; it may exceed them by the batch that reaches them."""

    bytes: int | None = None
    seconds: float | None = None

    def due(self, size: int, born: float | None) -> Literal["size", "age"] | None:
        """Why the file should end, if it should. A clock that was set back only delays that."""
        if self.bytes is not None and size >= self.bytes:
            return "size"
        if self.seconds is not None and born is not None and time.time() - born >= self.seconds:
            return "age"
        return None


NEVER: Final = Rotation()


def compress_closed(directory: Path) -> list[Path]:
    """Compresses every file that nobody will write again; those that it made. Raises `OSError`."""
    made: list[Path] = []
    paths = segment_paths(directory)
    for path, successor in itertools.pairwise(paths):
        # A successor without a record is one that a crash left: its writer still needs this file.
        if path.suffix != ".gz" and first_record(successor) is not None:
            packed = _compressed(path)
            if packed is not None:
                made.append(packed)
    return made


def _compressed(path: Path) -> Path | None:
    """None if another process is at it or did it, or the file does not end as a closed one does."""
    try:
        return _compressed_here(path)
    except FileNotFoundError:
        if not _packed(path).is_file():
            raise
        return None


def _packed(path: Path) -> Path:
    return path.with_name(f"{path.name}.gz")


def _compressed_here(path: Path) -> Path | None:
    with path.open("rb") as source:
        tail = read_tail(source.fileno(), os.fstat(source.fileno()).st_size, path)
    if not tail.closed or tail.torn:
        return None
    part = path.with_name(f"{path.name}.gz.part")
    fd = os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    # Not the lock of the plain file: a writer that has yet to move on needs that one.
    with os.fdopen(fd, "r+b") as raw:
        try:
            fcntl.flock(raw, fcntl.LOCK_EX | fcntl.LOCK_NB)
            mine = os.path.samestat(os.fstat(fd), part.stat())
        except (BlockingIOError, FileNotFoundError):
            return None
        # Another process may have renamed what was opened here: then it is the finished file.
        return _pack(raw, path, part) if mine else None


def _pack(raw: BinaryIO, path: Path, part: Path) -> Path | None:
    packed = _packed(path)
    try:
        if not path.exists():
            part.unlink()
            return None
        raw.truncate(0)
        with (
            path.open("rb") as plain,
            gzip.GzipFile(fileobj=raw, filename="", mode="wb", mtime=0) as file,
        ):
            shutil.copyfileobj(plain, file, _CHUNK)
        raw.flush()
        os.fsync(raw.fileno())
        if _digest_of(part) != _digest_of(path):
            raise OSError(0, "the compressed copy does not read back as it was written")
        os.rename(part, packed)  # noqa: PTH104 - its faults are tested under this name
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)
    os.unlink(path)  # noqa: PTH108 - the same
    sync_directory(path.parent)
    return packed


def _digest_of(path: Path) -> bytes:
    digest = hashlib.sha256()
    with gzip.open(path, "rb") if path.suffix == ".part" else path.open("rb") as file:
        while data := file.read(_CHUNK):
            digest.update(data)
    return digest.digest()
