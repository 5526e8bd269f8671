"""(8) Spelling: a record as canonical text, with gaps for its place in the chain.

A record is encoded once. Its number, its time and the two hashes are not known by then, so where
they belong the encoder is given a NUL, which it copies as it is; everywhere else a NUL is escaped,
as JSON has it. The text is then cut at the NULs, and `chain.py` fills the gaps: without the hashes
for the digest of the body, with them for the line.

The encoder is msgspec's, with sorted names: fast, and RFC 8785 for the values that `bounds.py` lets
through. No IO here.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from caps.security.audit.model.records import GAP, RECORD_VERSION

_ENVELOPE: Final = {"hash": GAP, "prev": GAP, "seq": GAP, "ts": GAP, "v": RECORD_VERSION}
_HASH: Final = len('"hash":')
_PREV: Final = len('"prev":')

_encode: Final = msgspec.json.Encoder(order="sorted").encode

# The text of a record but for what the chain adds: what comes before `hash`, what is between it and
# `prev` (the names of both are left out, as the body has neither), what leads to the values of
# `seq` and `ts`, and the rest.
Spelt = tuple[str, str, str, str, str]


def spelt(fields: dict[str, Any]) -> Spelt:
    """The record with these fields, `kind` among them; they must be as `bounds.py` wants them."""
    return cut(_encode({**fields, **_ENVELOPE}))


def cut(encoded: bytes) -> Spelt:
    """The pieces of an encoded record that has NUL bytes where its gaps are."""
    to_hash, to_prev, to_seq, to_ts, rest = encoded.decode().split("\0")
    return to_hash[:-_HASH], to_prev[1:-_PREV], to_seq[1:], to_ts, rest
