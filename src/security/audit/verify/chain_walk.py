"""(8) The walk of a verification along the chain: one line at a time, no IO of its own.

The position moves only over sound records, so a report says how far the log can be believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Any

from caps.security.audit.model.chain import ORIGIN, Flaw, Link, inspect
from caps.security.audit.signing.checkpoint import BadCheckpoint, Checkpoint
from caps.security.audit.findings import VerifyReport, VerifyStatus
from caps.security.audit.files.reader import Line, segment_name, segment_number


class Walk:
    """Follows the chain, and says where it breaks."""

    def __init__(
        self,
        checkpoints: Sequence[Checkpoint | BadCheckpoint],
        segments: Sequence[str],
        lines: Iterable[Line],
    ) -> None:
        """`segments` are the files there are; `lines` is the whole log, to be read once more."""
        self._head = ORIGIN
        self._records = 0
        self._last: Line | None = None
        self._mispinned: tuple[int, Line] | None = None
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
        """Takes one line; `remaining` is read only to tell a gap from a changed order."""
        link = inspect(line.data)
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
        return None

    def conclude(self, torn: Line | None) -> VerifyReport:
        """The finding for a chain without a break."""
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
        """A number that was there already: the same record, or another one?"""
        for earlier in self._lines:
            found = inspect(earlier.data)
            if isinstance(found, Link) and found.seq == link.seq:
                break
        else:  # it was followed, so it is there, unless the file changed under our eyes
            return self.stop_at(line, VerifyStatus.EDITED, link.seq, "changed while it was read")
        if found.hash == link.hash:
            what = f"comes again: it is a copy of {earlier.place}"
            return self.stop_at(line, VerifyStatus.DUPLICATED, link.seq, what)
        what = f"is another one than {earlier.place}: the log has two histories"
        return self.stop_at(line, VerifyStatus.FORKED, link.seq, what)

    def _missing(self, line: Line, link: Link, remaining: Iterator[Line]) -> VerifyReport:
        expected = self._head.seq + 1
        for later in remaining:
            found = inspect(later.data)
            if isinstance(found, Link) and found.seq == expected:
                what = f"comes before record {expected}, which is at {later.place}"
                return self.stop_at(line, VerifyStatus.REORDERED, link.seq, what)
        lost = self._lost_before(line)
        if lost is not None:
            return self._lost(lost, f"records {expected} to {link.seq - 1} are missing")
        what = f"follows record {expected - 1}: records are missing"
        return self.stop_at(line, VerifyStatus.GAP, link.seq, what)

    def _lost_before(self, line: Line) -> int | None:
        """The number of the first file that is not there, if this line is the first after it."""
        here = segment_number(PurePath(line.segment))
        if here is None or line.number != 1:
            return None
        before = segment_number(PurePath(self._last.segment)) if self._last else 0
        expected = (before or 0) + 1
        return expected if here > expected else None

    def _cut_short(self) -> VerifyReport:
        """A signed record is beyond the end: was a file cut, or taken away?"""
        beyond = max(self._pins)
        there = [segment_number(PurePath(name)) or 0 for name in self._segments]
        newest = max(there, default=0)
        what = f"the log ends at record {self._head.seq}, a checkpoint signed record {beyond}"
        if self._pinned_segment > newest and (self._segments or self._last is None):
            return self._lost(newest + 1, what)
        return self._report(VerifyStatus.TRUNCATED, what, seq=self._head.seq + 1, line=self._last)

    def _lost(self, number: int, what: str) -> VerifyReport:
        name = segment_name(number)
        is_there = any(segment_number(PurePath(found)) == number for found in self._segments)
        return self._report(
            VerifyStatus.LOST_SEGMENT,
            f"`{name}` is {'empty' if is_there else 'missing'}: {what}",
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
