"""`gzip.GzipFile` and `gzip.open` of user space, for file objects in memory."""

from __future__ import annotations

import gzip
import io
import time
import zlib
from typing import Any

READ, WRITE = "rb", "wb"
_NO_FILES = "there are no files here; pass a file object such as `io.BytesIO`"


class GzipFile(io.BufferedIOBase):
    """A stream that compresses what is written, or decompresses what is read."""

    def __init__(
        self,
        filename: Any = None,
        mode: str | None = None,
        compresslevel: int = 9,
        fileobj: Any = None,
        mtime: float | None = None,
    ) -> None:
        if fileobj is None:
            raise OSError(_NO_FILES)
        self.fileobj = fileobj
        self.name = filename if isinstance(filename, str) else ""
        self.mode = READ if (mode or READ).startswith("r") else WRITE
        self._level = compresslevel
        self._mtime = mtime
        self._parts: list[bytes] = []
        self._written = 0
        self._content: io.BytesIO | None = None

    def readable(self) -> bool:
        return self.mode == READ

    def writable(self) -> bool:
        return self.mode == WRITE

    def seekable(self) -> bool:
        return self.mode == READ

    def write(self, data: Any) -> int:
        self._check("write", WRITE)
        part = bytes(data)
        self._parts.append(part)
        self._written += len(part)
        return len(part)

    def read(self, size: int | None = -1) -> bytes:
        return self._decompressed().read(size)

    def read1(self, size: int = -1) -> bytes:
        return self.read(size)

    def peek(self, size: int) -> bytes:
        content = self._decompressed()
        position = content.tell()
        found = content.read(size)
        content.seek(position)
        return found

    def readline(self, size: int | None = -1) -> bytes:
        return self._decompressed().readline(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._decompressed().seek(offset, whence)

    def tell(self) -> int:
        return self._written if self.mode == WRITE else self._decompressed().tell()

    def close(self) -> None:
        if self.closed:
            return
        if self.mode == WRITE:
            mtime = time.time() if self._mtime is None else self._mtime
            packed = gzip.compress(b"".join(self._parts), self._level, mtime=mtime)
            self.fileobj.write(packed)
        super().close()

    def _check(self, what: str, mode: str) -> None:
        if self.closed:
            raise ValueError(f"{what}() on closed GzipFile object")
        if self.mode != mode:
            raise OSError(9, f"{what}() on {'read' if mode == WRITE else 'write'}-only GzipFile")

    def _decompressed(self) -> io.BytesIO:
        self._check("read", READ)
        if self._content is None:
            self._content = io.BytesIO(gzip.decompress(self.fileobj.read()))
        return self._content


def open(  # noqa: A001 - the library's name
    filename: Any,
    mode: str = READ,
    compresslevel: int = 9,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> Any:
    """`gzip.open` of a file object."""
    if not hasattr(filename, "read") and not hasattr(filename, "write"):
        raise OSError(_NO_FILES)
    file = GzipFile(None, mode.replace("t", ""), compresslevel, filename)
    return io.TextIOWrapper(file, encoding, errors, newline) if "t" in mode else file


__all__ = ["GzipFile", "open", "zlib"]
