"""(8) What a verification can find: a closed set, each with the place where it was found."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from caps.security.audit.model.chain import ORIGIN


class VerifyStatus(enum.Enum):
    """What a verification found; the first thing that is wrong."""

    OK = "ok"
    TORN_TAIL = "torn_tail"
    EDITED = "edited"
    GAP = "gap"
    REORDERED = "reordered"
    DUPLICATED = "duplicated"
    FORKED = "forked"
    TRUNCATED = "truncated"
    LOST_SEGMENT = "lost_segment"
    CHECKPOINT_BAD = "checkpoint_bad"
    UNKNOWN_KEY = "unknown_key"
    EMPTY = "empty"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """The finding, how far the log is sound, and where it stops being so.

    `bad_file` is the segment, or the file of checkpoints; `bad_line` counts within it. `signed_seq`
    is the last record that a sound checkpoint pins: what comes after it could be cut off unseen.
    """

    status: VerifyStatus
    message: str
    records: int = 0
    segments: int = 0
    head_seq: int = 0
    head_hash: str = ORIGIN.hash
    checkpoints: int = 0
    signed_seq: int = 0
    bad_file: str | None = None
    bad_line: int | None = None
    bad_seq: int | None = None
