"""Parts of a file: a range of bytes, or of lines. Neither needs memory for the rest of the file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Annotated, BinaryIO, Final

import msgspec
from pydantic import Field

from caps.capabilities.provider import ProviderError
from caps.capabilities.threads import in_turns
from caps.providers.files.resolve import Target

Offset = Annotated[int | None, Field(ge=0, le=2**53 - 1, description="the first byte, from 0")]
Length = Annotated[int | None, Field(ge=0, le=2**53 - 1, description="how many bytes at most")]
FirstLine = Annotated[int | None, Field(ge=1, le=2**53 - 1, description="the first line, from 1")]
LastLine = Annotated[int | None, Field(ge=1, le=2**53 - 1, description="the last line, included")]

_CHUNK: Final = 256 * 1024


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller wants of a file: all of it, unless something is set."""

    offset: int | None
    length: int | None
    first_line: int | None
    last_line: int | None

    def __post_init__(self) -> None:
        """ProviderError for bytes and lines together, and for lines in the wrong order."""
        if self.by_bytes and self.by_lines:
            raise ProviderError("name a part by `offset` and `length` or by lines, not by both")
        if self.last_line is not None and self.last_line < (self.first_line or 1):
            raise ProviderError("`last_line` is before `first_line`")

    @property
    def is_part(self) -> bool:
        return self.by_bytes or self.by_lines

    @property
    def by_bytes(self) -> bool:
        return self.offset is not None or self.length is not None

    @property
    def by_lines(self) -> bool:
        return self.first_line is not None or self.last_line is not None


def part_of(descriptor: int, target: Target, wanted: Wanted) -> tuple[bytes, bool]:
    """The wanted part, of at most the policy's `max_bytes`, and whether more follows it."""
    with os.fdopen(os.dup(descriptor), "rb", buffering=_CHUNK) as file:
        if wanted.by_lines:
            return _lines(file, target, wanted.first_line or 1, wanted.last_line)
        file.seek(wanted.offset or 0)
        length = target.max_bytes if wanted.length is None else wanted.length
        data = file.read(min(length, target.max_bytes))
        return data, bool(file.read(1))


def _lines(file: BinaryIO, target: Target, first: int, last: int | None) -> tuple[bytes, bool]:
    """Whole lines. ScopeViolationError if the first of them is larger than `max_bytes`."""
    kept, size = list[bytes](), 0
    # A line that is not wanted may be long, so it is read in pieces.
    for number, piece in in_turns(_numbered(file, target.max_bytes + 1)):
        if number < first:
            continue
        if last is not None and number > last:
            return b"".join(kept), True
        size += len(piece)
        if size > target.max_bytes:
            if not kept or not kept[-1].endswith(b"\n"):
                raise target.too_large()
            return b"".join(kept), True
        kept.append(piece)
    return b"".join(kept), False


def _numbered(file: BinaryIO, most: int) -> Iterator[tuple[int, bytes]]:
    """Each line with its number; one of more than `most` bytes in several pieces."""
    number = 1
    while piece := file.readline(most):
        yield number, piece
        number += piece.endswith(b"\n")
