"""(8) Verification of the chain, one line at a time, and the report of it. No IO of its own.

The position advances only over sound records, so a report says how far the log can be trusted.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from caps.security.audit.files.reader import Line, segment_name, segment_number
from caps.security.audit.model.chain import ORIGIN, Flaw, Link, check_link
from caps.security.audit.signing.checkpoint import CHECKPOINTS, BadCheckpoint, Checkpoint


class VerifyStatus(enum.Enum):
    """The result of a verification: the first problem, or OK."""

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
    """The result, how far the log is sound, and where the problem is.

    `bad_file` is the segment, or the file of checkpoints; `bad_line` is the line in it.
    `signed_seq` is the last record that a sound checkpoint pins: later records could be cut off
    without a trace.
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


class ChainWalk:
    """Follows the chain, and reports where it breaks."""

    def __init__(
        self,
        checkpoints: Sequence[Checkpoint | BadCheckpoint],
        segments: Sequence[str],
        lines: Iterable[Line],
    ) -> None:
        """`segments` are the existing files; `lines` is the whole log, for a second pass."""
        self._head = ORIGIN
        self._records = 0
        self._last: Line | None = None
        self._mispinned: tuple[int, Line] | None = None
        self._unproven: tuple[int, int] | None = None
        self._pins: dict[int, set[str]] = {}
        self._bad: BadCheckpoint | None = None
        self._pinned_segment = 0
        self._segments = segments
        self._lines = lines
        for item in checkpoints:
            if isinstance(item, Checkpoint):
                self._pins.setdefault(item.seq, set()).add(item.hash)
                self._pinned_segment = max(self._pinned_segment, item.segment or 1)
            else:
                self._bad = self._bad or item

    def step(self, line: Line, remaining: Iterator[Line]) -> VerifyReport | None:
        """Check one line; `remaining` is read only to distinguish a gap from a changed order."""
        link = check_link(line.data)
        expected = self._head.seq + 1
        if isinstance(link, Flaw):
            return self.stop_at(line, VerifyStatus.EDITED, link.seq, link.message)
        if link.seq < expected:
            return self._repeated(line, link)
        if link.seq > expected:
            return self._missing(line, link, remaining)
        if link.prev != self._head.hash:
            return self.stop_at(
                line, VerifyStatus.EDITED, link.seq, "does not follow from the record before it"
            )
        self._follow(line, link)
        if link.signed_seq is not None and link.signed_seq not in self._pins:
            self._unproven = self._unproven or (link.signed_seq, link.seq)
        return None

    def conclude(self, torn: Line | None) -> VerifyReport:
        """Return the report for a chain without a break."""
        if self._mispinned is not None:
            seq, line = self._mispinned
            message = f"record {seq} is not the one that a checkpoint signed"
            return self._report(VerifyStatus.FORKED, message, seq=seq, line=line)
        if max(self._pins, default=0) > self._head.seq:
            return self._cut_short()
        if self._bad is not None:
            status = (
                VerifyStatus.UNKNOWN_KEY if self._bad.unknown_key else VerifyStatus.CHECKPOINT_BAD
            )
            file = self._bad.file
            message = f"line {self._bad.line} of `{file}` {self._bad.message}"
            return self._report(
                status, message, seq=self._bad.seq, file=file, number=self._bad.line
            )
        if self._unproven is not None:
            return self._without_checkpoint(*self._unproven)
        if torn is not None:
            message = f"{torn.place} was cut short by a crash; the next writer mends it"
            return self._report(VerifyStatus.TORN_TAIL, message, seq=self._head.seq + 1, line=torn)
        if self._records == 0:
            return self._report(VerifyStatus.EMPTY, "the log has no records")
        return self._report(VerifyStatus.OK, f"{self._records} records are sound; {self._signed()}")

    def stop_at(self, line: Line, status: VerifyStatus, seq: int | None, what: str) -> VerifyReport:
        subject = line.place if seq is None else f"{line.place}, record {seq},"
        return self._report(status, f"{subject} {what}", seq=seq, line=line)

    def _repeated(self, line: Line, link: Link) -> VerifyReport:
        """Report a number that was there already: the same record, or another one."""
        for earlier in self._lines:
            found = check_link(earlier.data)
            if isinstance(found, Link) and found.seq == link.seq:
                break
        else:  # it was there in the first pass, so the file has changed meanwhile
            return self.stop_at(line, VerifyStatus.EDITED, link.seq, "changed while it was read")
        if found.hash == link.hash:
            what = f"comes again: it is a copy of {earlier.place}"
            return self.stop_at(line, VerifyStatus.DUPLICATED, link.seq, what)
        what = f"is another one than {earlier.place}: the log has two histories"
        return self.stop_at(line, VerifyStatus.FORKED, link.seq, what)

    def _missing(self, line: Line, link: Link, remaining: Iterator[Line]) -> VerifyReport:
        expected = self._head.seq + 1
        for later in remaining:
            found = check_link(later.data)
            if isinstance(found, Link) and found.seq == expected:
                what = f"comes before record {expected}, which is at {later.place}"
                return self.stop_at(line, VerifyStatus.REORDERED, link.seq, what)
        lost = self._lost_before(line)
        if lost is not None:
            return self._lost(lost, f"records {expected} to {link.seq - 1} are missing")
        what = f"follows record {expected - 1}: records are missing"
        return self.stop_at(line, VerifyStatus.GAP, link.seq, what)

    def _lost_before(self, line: Line) -> int | None:
        """Return the number of the first missing file, if this line is the first after it."""
        here = segment_number(PurePath(line.segment))
        if here is None or line.number != 1:
            return None
        before = segment_number(PurePath(self._last.segment)) if self._last else 0
        expected = (before or 0) + 1
        return expected if here > expected else None

    def _cut_short(self) -> VerifyReport:
        """Report that a signed record is beyond the end: a file was cut, or removed."""
        beyond = max(self._pins)
        newest = max((segment_number(PurePath(name)) or 0 for name in self._segments), default=0)
        what = f"the log ends at record {self._head.seq}, a checkpoint signed record {beyond}"
        if self._pinned_segment > newest and (self._segments or self._last is None):
            return self._lost(newest + 1, what)
        return self._report(VerifyStatus.TRUNCATED, what, seq=self._head.seq + 1, line=self._last)

    def _without_checkpoint(self, signed: int, seq: int) -> VerifyReport:
        """Report that a record mentions a checkpoint that is not there."""
        message = (
            f"`{CHECKPOINTS}` has lost the checkpoint of record {signed}, which record {seq} "
            "mentions; restore the file, or pass a copy with `--checkpoints`"
        )
        return self._report(VerifyStatus.CHECKPOINT_BAD, message, seq=signed, file=CHECKPOINTS)

    def _lost(self, number: int, what: str) -> VerifyReport:
        name = segment_name(number)
        exists = any(segment_number(PurePath(found)) == number for found in self._segments)
        return self._report(
            VerifyStatus.LOST_SEGMENT,
            f"`{name}` is {'empty' if exists else 'missing'}: {what}",
            seq=self._head.seq + 1,
            file=name,
        )

    def _follow(self, line: Line, link: Link) -> None:
        self._head = link.head
        self._last = line
        self._records += 1
        pinned = self._pins.get(link.seq)
        if pinned is not None and pinned != {link.hash} and self._mispinned is None:
            self._mispinned = (link.seq, line)

    def _signed(self) -> str:
        signed = self._signed_seq()
        if not signed:
            return "no record is signed yet"
        rest = self._head.seq - signed
        return f"record {signed} is signed" + (f", {rest} after it not yet" if rest else "")

    def _signed_seq(self) -> int:
        return max((seq for seq in self._pins if seq <= self._head.seq), default=0)

    def _report(
        self,
        status: VerifyStatus,
        message: str,
        *,
        seq: int | None = None,
        line: Line | None = None,
        file: str | None = None,
        number: int | None = None,
    ) -> VerifyReport:
        place: dict[str, Any] = {"bad_file": file, "bad_line": number, "bad_seq": seq}
        if line is not None:
            place |= {"bad_file": line.segment or None, "bad_line": line.number}
        return VerifyReport(
            status=status,
            message=message,
            records=self._records,
            segments=len(self._segments),
            head_seq=self._head.seq,
            head_hash=self._head.hash,
            checkpoints=len(self._pins),
            signed_seq=self._signed_seq(),
            **place,
        )
