"""(8) Records that differ in a few values only: their text, cut out once.

The text is cut out of a record that the general encoder made of an example, so that there is one
definition of what a record looks like. What differs is inserted between the pieces.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Final

from caps.security.audit.model.records import MAX_LINE_BYTES, AuditEvent
from caps.security.audit.model.sanitize import MAX_TEXT_CHARS, encode_event

# In a record that is made from pieces: the log inserts `signed_seq` here. No JSON has a bare NUL.
SIGNED_SEQ_GAP: Final = "\0"

_MAX_ID_CHARACTERS: Final = 64
# All that is inserted into one record together takes less.
_INSERTED_BYTES: Final = 16 * 1024
_MAX_PIECES_BYTES: Final = MAX_LINE_BYTES - _INSERTED_BYTES


def text_mark() -> str:
    """Stands for a text in an example. Nobody can guess it, so nothing else in it is equal."""
    return f"m{secrets.token_hex(16)}"


def number_mark() -> int:
    """Stands for a number. A digest may have the same digits; then nothing is cut out."""
    return secrets.randbelow(10**15) + 10**14


def is_plain_id(text: str) -> bool:
    """Whether the encoder would copy this id as it is."""
    return (
        type(text) is str and text.isalnum() and text.isascii() and len(text) <= _MAX_ID_CHARACTERS
    )


def is_plain_text(text: str) -> bool:
    """Whether the encoder would copy this text as it is."""
    return (
        type(text) is str  # another class may have a text of its own
        and text.isascii()
        and text.isprintable()
        and '"' not in text
        and "\\" not in text
        and len(text) <= MAX_TEXT_CHARS
    )


def cut_out(example: AuditEvent, places: Sequence[Sequence[object]]) -> tuple[str, ...] | None:
    """The pieces of the record of `example`, which are one more in each text than it has `places`.

    `places` are the marks in each of the texts of an `EncodedRecord`, in their order. At a place
    that is None the example has nothing: the piece that leads to it is empty. None unless each mark
    is at its place, and nowhere else: the encoder may have changed it. None also if a record with
    longer values than the example could be too large.
    """
    pieces: list[str] = []
    for text, marks in zip(encode_event(example), places, strict=True):
        rest = text
        for mark in marks:
            before, found, rest = ("", True, rest) if mark is None else rest.partition(str(mark))
            if not found:
                return None
            pieces.append(before)
        pieces.append(rest)
    every_mark = {str(mark) for marks in places for mark in marks if mark is not None}
    if len("".join(pieces).encode()) > _MAX_PIECES_BYTES:
        return None
    if any(mark in piece for mark in every_mark for piece in pieces):
        return None
    return tuple(pieces)
