"""(8) When a log continues in a new file, and how an old file is compressed.

Compression is crash-safe by its order: the compressed copy is written to `.gz.part`, synced and
read back, then renamed; then the directory is synced, and only then is the plain file removed. A
crash in between leaves the plain file, which readers prefer, and the next run tries again. Only a
file that has a successor is compressed: if the newest file is compressed, its successor is gone.
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

from caps.protocol.disk.regular_files import CREATE_FLAGS, sync_directory
from caps.security.audit.files.reader import compressed_path, segment_paths
from caps.security.audit.files.tail import first_record, read_tail

_CHUNK: Final = 1024 * 1024

logger = logging.getLogger(__name__)


class Rotation(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of one file; the batch that reaches them may exceed them."""

    bytes: int | None = None
    seconds: float | None = None

    def due(self, size: int, started_at: float | None) -> Literal["size", "age"] | None:
        """Return why the file should end, or None. A clock that was set back only delays it."""
        if self.bytes is not None and size >= self.bytes:
            return "size"
        if self.seconds is None or started_at is None:
            return None
        return "age" if time.time() - started_at >= self.seconds else None


NEVER: Final = Rotation()


def compress_closed(directory: Path) -> list[Path]:
    """Compress every file that is complete; return the new files. Raises `OSError`."""
    created: list[Path] = []
    paths = segment_paths(directory)
    for path, successor in itertools.pairwise(paths):
        # A successor without a record was left by a crash: its writer still needs this file.
        if path.suffix != ".gz" and first_record(successor) is not None:
            packed = _compress(path)
            if packed is not None:
                created.append(packed)
    return created


def _compress(path: Path) -> Path | None:
    """None if another process compresses or compressed it, or if the file is not closed."""
    try:
        return _compress_exclusively(path)
    except FileNotFoundError:
        if not compressed_path(path).is_file():
            raise
        return None


def _compress_exclusively(path: Path) -> Path | None:
    with path.open("rb") as source:
        tail = read_tail(source.fileno(), os.fstat(source.fileno()).st_size, path)
    if not tail.closed or tail.torn:
        return None
    part = path.with_name(f"{path.name}.gz.part")
    fd = os.open(part, CREATE_FLAGS, 0o600)
    # Not the lock of the plain file: a writer that still has to switch files needs that one.
    with os.fdopen(fd, "r+b") as raw:
        try:
            fcntl.flock(raw, fcntl.LOCK_EX | fcntl.LOCK_NB)
            mine = os.path.samestat(os.fstat(fd), part.stat())
        except (BlockingIOError, FileNotFoundError):
            return None
        # Another process may have renamed the opened file: then it is the finished one.
        return _pack(raw, path, part) if mine else None


def _pack(raw: BinaryIO, path: Path, part: Path) -> Path | None:
    packed = compressed_path(path)
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
