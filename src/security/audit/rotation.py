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
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from caps.security.audit.keyfiles import sync_directory
from caps.security.audit.reader import segment_paths
from caps.security.audit.tail import first_record, read_tail

_CHUNK: Final = 1024 * 1024

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
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
    """None if another process is at it, or the file does not end as a closed one does."""
    with path.open("rb") as source:
        try:
            fcntl.flock(source, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        tail = read_tail(source.fileno(), os.fstat(source.fileno()).st_size, path)
        if not tail.closed or tail.torn:
            return None
        return _pack(source.fileno(), path)


def _pack(fd: int, path: Path) -> Path:
    packed = path.with_name(f"{path.name}.gz")
    part = path.with_name(f"{path.name}.gz.part")
    out = os.open(part, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(out, "wb") as raw:
            with (
                open(fd, "rb", closefd=False) as plain,
                gzip.GzipFile(fileobj=raw, filename="", mode="wb", mtime=0) as file,
            ):
                plain.seek(0)
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
