"""(8) The forms in which a record is offered to a sink, so that no content can stop it.

Names of capabilities, principals and the like come from callers, and a sink may be unable to store
some characters: PostgreSQL has no NUL, and a database in LATIN1 has few characters. So the fields
that a sink gets in addition to the line are escaped and bounded. If it refuses a record anyway, it
gets the same record in ASCII, and then a short form that names the record and its hash.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from caps.protocol.errors import AuditError
from caps.security.audit.model.records import ENVELOPE_FIELDS
from caps.security.audit.sinks.interface import Delivery, RecordRefusedError, Sink

MAX_CELL_CHARACTERS: Final = 512
"""Fits an index of PostgreSQL, whose entries have at most 2,704 bytes."""

# Fields of which no caller chooses a value; `key_id` is that of a checkpoint.
_SHORT_FIELDS: Final = (*ENVELOPE_FIELDS, "decision", "status", "key_id")
_CONTROLS: Final = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
_decode: Final = msgspec.json.Decoder().decode


def cell(value: Any, *, ascii_only: bool = False, limit: int = MAX_CELL_CHARACTERS) -> str | None:
    """Return a field as text without control characters, of at most `limit` characters."""
    if value is None:
        return None
    text = str(value)[:limit].translate(_CONTROLS)
    codec = "ascii" if ascii_only else "utf-8"  # a lone surrogate is escaped in either
    return text.encode(codec, "backslashreplace").decode(codec)[:limit]


def deliver_in_some_form(
    sink: Sink, items: Sequence[Delivery], on_cut: Callable[[int, Exception], None]
) -> None:
    """Deliver `items`; a record that the sink refuses is delivered in another form.

    `on_cut` is called with the number of each record of which only the short form is left, and the
    refusal. A sink that refuses that, too, does not work, whatever it says: its error is raised.
    """
    try:
        sink.deliver(items)
    except Exception as error:
        if not _is_of_content(error):
            raise
        for item in items:  # the others must not wait for the refused one
            _deliver_one(sink, item, on_cut)


def _deliver_one(sink: Sink, item: Delivery, on_cut: Callable[[int, Exception], None]) -> None:
    for form in (_as_it_is, ascii_form):
        try:
            sink.deliver([form(item)])
        except Exception as error:
            if not _is_of_content(error):
                raise
            refusal = error
        else:
            return
    on_cut(item.seq, refusal)
    sink.deliver([short_form(item)])


def _is_of_content(error: Exception) -> bool:
    """Whether a sink refused a record, or could not even process it."""
    return isinstance(error, RecordRefusedError) or not isinstance(error, (OSError, AuditError))


def _as_it_is(item: Delivery) -> Delivery:
    return item


def ascii_form(item: Delivery) -> Delivery:
    """Return the whole record in ASCII. Encoded as RFC 8785 it is the line of the log again."""
    encoded = json.dumps(_decode(item.line), separators=(",", ":"), sort_keys=True)
    line = encoded.replace("\x7f", "\\u007f").encode()
    return msgspec.structs.replace(item, line=line, ascii_only=True)


def short_form(item: Delivery) -> Delivery:
    """Return what no caller can choose: the envelope with the hash, and the size of the line."""
    record = _decode(item.line)
    short = {name: record[name] for name in _SHORT_FIELDS if name in record}
    encoded = json.dumps({**short, "cut_from_bytes": len(item.line)}, sort_keys=True)
    return msgspec.structs.replace(item, line=encoded.encode(), ascii_only=True)
