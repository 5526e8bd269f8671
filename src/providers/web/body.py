"""Reading a body: how much, how long, and how far it may expand. Nothing here opens a connection.

`Content-Encoding` is undone while the body is read, in small steps, for `gzip` and `deflate`; other
encodings are not asked for and refused. Three bounds end it: `max_bytes` of content, `max_bytes` on
the wire, and the ratio between the two, which ordinary pages stay far below and bombs do not.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Final, Protocol

import anyio
import anyio.lowlevel
import msgspec

from caps.protocol.errors import ProviderError

ACCEPTED_ENCODINGS: Final = "gzip, deflate"
MAX_RATIO: Final = 200
_FREE_BYTES: Final = 256 * 1024
_STEP_BYTES: Final = 256 * 1024


class Body(msgspec.Struct):
    """What was read. At most one of the two says why there is no more."""

    data: bytes
    timed_out: bool = False
    too_large: bool = False

    @property
    def is_cut_off(self) -> bool:
        return self.timed_out or self.too_large


class Decoder(Protocol):
    """Undoes an encoding step by step."""

    slice_bytes: int
    """How much to feed it in one step."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What `data` gives, in pieces of bounded size. ProviderError if it is not valid."""

    def finish(self) -> None:
        """The body is over. ProviderError if it is not complete."""


class Identity:
    """No encoding."""

    slice_bytes = _STEP_BYTES

    def feed(self, data: bytes) -> Iterator[bytes]:
        yield data

    def finish(self) -> None:
        pass


class Inflate:
    """`gzip`, also in several members, and `deflate`, with its header or (wrongly) without."""

    slice_bytes = 1024

    def __init__(self, *, gzip: bool) -> None:
        self._gzip = gzip
        self._inflater = zlib.decompressobj(31 if gzip else 15)
        self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._inflater.eof:
                if not self._gzip:
                    return  # whatever follows is not part of the content
                self._inflater = zlib.decompressobj(31)
            found = self._step(data)
            data = self._inflater.unconsumed_tail or self._inflater.unused_data
            if found:
                yield found

    def _step(self, data: bytes) -> bytes:
        first, self._begun = not self._begun, True
        try:
            return self._inflater.decompress(data, _STEP_BYTES)
        except zlib.error:
            if not first or self._gzip:
                raise _invalid() from None
        self._inflater = zlib.decompressobj(-15)
        try:
            return self._inflater.decompress(data, _STEP_BYTES)
        except zlib.error:
            raise _invalid() from None

    def finish(self) -> None:
        if self._begun and not self._inflater.eof:
            raise _invalid()


def _invalid() -> ProviderError:
    return ProviderError("the server sent compressed content that is not valid")


def decoder_of(encoding: str | None) -> Decoder:
    """The decoder of a `Content-Encoding`. ProviderError for one that was not asked for."""
    match (encoding or "identity").strip().lower():
        case "identity" | "":
            return Identity()
        case "gzip" | "x-gzip":
            return Inflate(gzip=True)
        case "deflate":
            return Inflate(gzip=False)
        case _:
            raise ProviderError("the server sent content in an encoding that was not asked for")


class Reader:
    """Collects a body within its bounds."""

    def __init__(self, decoder: Decoder, max_bytes: int) -> None:
        self._decoder = decoder
        self._max_bytes = max_bytes
        self._data = bytearray()
        self._received = 0

    async def read(self, chunks: AsyncIterator[bytes], seconds: float) -> Body:
        """All of `chunks`, or what arrived within `seconds` and the bounds.

        Raises ProviderError, and whatever `chunks` raises.
        """
        complete = False
        with anyio.move_on_after(seconds) as clock:
            complete = await self._read(chunks)
        timed_out = clock.cancelled_caught
        return Body(bytes(self._data), timed_out, not complete and not timed_out)

    async def _read(self, chunks: AsyncIterator[bytes]) -> bool:
        """Whether it was read to its end."""
        async for chunk in chunks:
            # In slices, so that the ratio is of what was decoded and not of what has arrived.
            for start in range(0, len(chunk), self._decoder.slice_bytes):
                if not await self._decode(chunk[start : start + self._decoder.slice_bytes]):
                    return False
        self._decoder.finish()
        return True

    async def _decode(self, data: bytes) -> bool:
        """Whether more may follow."""
        self._received += len(data)
        for piece in self._decoder.feed(data):
            self._data += piece
            self._check_ratio()
            if len(self._data) > self._max_bytes:
                del self._data[self._max_bytes :]
                return False
            await anyio.lowlevel.checkpoint()  # also cancels one that never ends
        return self._received <= self._max_bytes

    def _check_ratio(self) -> None:
        size = len(self._data)
        if size > _FREE_BYTES and size > self._received * MAX_RATIO:
            raise ProviderError(f"the content expands more than {MAX_RATIO} times; it was not read")
