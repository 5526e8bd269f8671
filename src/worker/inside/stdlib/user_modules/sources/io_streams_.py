"""The classes of `io` that wrap a file object of the program, in Python.

Those in C hand out views of their own memory, and trust the counts that `readinto` returns.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterable, Iterator
from io import BytesIO, StringIO, UnsupportedOperation
from typing import Any


class IOBase(metaclass=ABCMeta):  # noqa: B024 - other streams are registered
    """What all streams have."""

    _is_closed = False

    @property
    def closed(self) -> bool:
        return self._is_closed

    def close(self) -> None:
        if not self._is_closed:
            self.flush()
            self._is_closed = True

    def flush(self) -> None:
        self._check_open()

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        raise UnsupportedOperation("fileno")

    def seek(self, offset: int, whence: int = 0) -> int:  # noqa: ARG002 - the library's names
        raise UnsupportedOperation("seek")

    def tell(self) -> int:
        return self.seek(0, 1)

    def truncate(self, size: int | None = None) -> int:  # noqa: ARG002 - the library's names
        raise UnsupportedOperation("truncate")

    def read(self, size: int | None = -1) -> Any:  # noqa: ARG002 - the library's names
        raise UnsupportedOperation("read")

    def readline(self, size: int | None = -1) -> Any:
        """Read up to the end of a line, one character at a time."""
        line: list[Any] = []
        while size is None or size < 0 or len(line) < size:
            part = self.read(1)
            if part:
                line.append(part)
            if not part or part in ("\n", b"\n"):
                break
        empty: Any = b"" if not line or isinstance(line[0], bytes) else ""
        return empty.join(line)

    def readlines(self, hint: int | None = None) -> list[Any]:
        lines: list[Any] = []
        total = 0
        for line in self:
            lines.append(line)
            total += len(line)
            if hint is not None and 0 < hint <= total:
                break
        return lines

    def write(self, data: Any) -> int:  # noqa: ARG002 - the library's names
        raise UnsupportedOperation("write")

    def writelines(self, lines: Iterable[Any]) -> None:
        for line in lines:
            self.write(line)

    def __iter__(self) -> Iterator[Any]:
        self._check_open()
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def __enter__(self) -> Any:
        self._check_open()
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file.")


class RawIOBase(IOBase):
    """A stream of bytes without a buffer."""

    def read(self, size: int | None = -1) -> bytes | None:
        if size is None or size < 0:
            return self.readall()
        buffer = bytearray(size)
        count = self.readinto(buffer)
        return None if count is None else bytes(buffer[:count])

    def readall(self) -> bytes:
        return b"".join(iter(lambda: self.read(8192) or b"", b""))

    def readinto(self, buffer: Any) -> int | None:  # noqa: ARG002 - the library's names
        raise UnsupportedOperation("readinto")


class BufferedIOBase(IOBase):
    """A stream of bytes."""

    def read1(self, size: int = -1) -> bytes:
        found: bytes = self.read(size)
        return found

    def readinto(self, buffer: Any) -> int:
        found = self.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)

    readinto1 = readinto

    def detach(self) -> Any:
        raise UnsupportedOperation("detach")


class _Buffered(BufferedIOBase):
    def __init__(self, raw: Any, buffer_size: int = 8192) -> None:
        del buffer_size
        self.raw = raw

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self.raw.seek(offset, whence))

    def tell(self) -> int:
        return int(self.raw.tell())

    def seekable(self) -> bool:
        return bool(self.raw.seekable())

    def flush(self) -> None:
        self._check_open()
        self.raw.flush()

    def close(self) -> None:
        if not self.closed:
            super().close()
            self.raw.close()

    def detach(self) -> Any:
        raw, self.raw = self.raw, None
        return raw


class BufferedReader(_Buffered):
    """Reads a raw stream; nothing is read ahead."""

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        return self.raw.read(-1 if size is None else size) or b""


class BufferedWriter(_Buffered):
    """Writes a raw stream; nothing is held back."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return int(self.raw.write(data))


class TextIOBase(IOBase):
    """A stream of text."""

    encoding: str | None = None
    errors: str | None = None
    newlines: Any = None

    def detach(self) -> Any:
        raise UnsupportedOperation("detach")


class TextIOWrapper(TextIOBase):
    """Text in a stream of bytes. Reading decodes the whole rest of the stream."""

    def __init__(
        self,
        buffer: Any,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        line_buffering: bool = False,
        write_through: bool = False,
    ) -> None:
        if newline not in (None, "", "\n", "\r", "\r\n"):
            raise ValueError(f"illegal newline value: {newline!r}")
        del line_buffering, write_through
        self.buffer = buffer
        self.encoding = "utf-8" if encoding in (None, "locale") else encoding
        self.errors = errors or "strict"
        self._newline = newline
        self._text: StringIO | None = None

    @property
    def closed(self) -> bool:
        return self.buffer is None or bool(self.buffer.closed)

    @property
    def name(self) -> Any:
        return self.buffer.name

    def readable(self) -> bool:
        return bool(self.buffer.readable())

    def writable(self) -> bool:
        return bool(self.buffer.writable())

    def seekable(self) -> bool:
        return bool(self.buffer.seekable())

    def _decoded(self) -> StringIO:
        self._check_open()
        if self._text is None:
            content = self.buffer.read().decode(self.encoding, self.errors)
            self._text = StringIO(content, newline=self._newline)
        return self._text

    def read(self, size: int | None = -1) -> str:
        return self._decoded().read(size)

    def readline(self, size: int | None = -1) -> str:
        return self._decoded().readline(-1 if size is None else size)

    def write(self, data: Any) -> int:
        self._check_open()
        if not isinstance(data, str):
            raise TypeError(f"write() argument must be str, not {type(data).__name__}")
        ending = "\n" if self._newline in (None, "", "\n") else self._newline
        text = data if ending == "\n" else data.replace("\n", ending)
        self.buffer.write(text.encode(str(self.encoding), str(self.errors)))
        self._text = None
        return len(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        self._check_open()
        self._text = None
        return int(self.buffer.seek(offset, whence))

    def tell(self) -> int:
        return int(self.buffer.tell()) if self._text is None else self._text.tell()

    def flush(self) -> None:
        self._check_open()
        self.buffer.flush()

    def close(self) -> None:
        if not self.closed:
            self.flush()
            self.buffer.close()

    def detach(self) -> Any:
        self.flush()
        buffer, self.buffer = self.buffer, None
        return buffer


BufferedIOBase.register(BytesIO)
TextIOBase.register(StringIO)
