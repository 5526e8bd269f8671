"""(8) Verification: is this the log that was written, all of it, in its order?

What is told apart, and how:

- edited: a line is not a record, does not match its own hash, is spelt otherwise, or a record does
  not carry the hash of the one before although their numbers follow;
- gap: the numbers jump, and the missing record is nowhere later;
- reordered: the numbers go back (a swap, a copy), or the missing record comes later;
- truncated: a signed checkpoint names a record beyond the end, or another hash at its number;
- checkpoint bad: a checkpoint is malformed or its signature is wrong;
- torn tail: the last line has no newline. A crash does that; the next writer mends it.

The first three are found in this order of lines and end the check; the others are looked for when
the chain itself is sound. A log that lost its end *and* its later checkpoints looks shorter, not
broken: compare with a checkpoint that is kept elsewhere.
"""

from __future__ import annotations

import enum
import fcntl
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from caps.protocol.errors import AuditError
from caps.security.audit.chain import ORIGIN, Flaw, Link, inspect
from caps.security.audit.checkpoint import (
    CHECKPOINTS,
    BadCheckpoint,
    Checkpoint,
    check_line,
    load_public_key,
)
from caps.security.audit.keyfiles import SIGNING_PUB
from caps.security.audit.reader import Line, read_lines, segment_paths


class VerifyStatus(enum.Enum):
    """What a verification found; the first thing that is wrong."""

    OK = "ok"
    TORN_TAIL = "torn_tail"
    EDITED = "edited"
    GAP = "gap"
    REORDERED = "reordered"
    TRUNCATED = "truncated"
    CHECKPOINT_BAD = "checkpoint_bad"
    EMPTY = "empty"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """The finding, how far the log is sound, and where it stops being so."""

    status: VerifyStatus
    message: str
    records: int = 0
    head_seq: int = 0
    head_hash: str = ORIGIN.hash
    checkpoints: int = 0
    bad_seq: int | None = None
    bad_line: int | None = None


def verify_log(directory: Path, *, public_key: Path | None = None) -> VerifyReport:
    """Verifies a log directory as it is at this moment; writers may go on meanwhile.

    `public_key` is a trusted copy of `signing.pub`; without it the directory's own is believed.
    With it, a log without any checkpoint is not believed: whoever cuts a log would delete them.
    """
    try:
        with ExitStack() as stack:
            files = [stack.enter_context(path.open("rb")) for path in segment_paths(directory)]
            sizes, pins = _snapshot(directory, files)
            checkpoints = _check_all(pins, directory, public_key)
            return verify_lines(_all_lines(files, sizes), checkpoints)
    except OSError as error:
        message = f"cannot read audit log `{directory}`: {error.strerror}"
    except AuditError as error:
        message = f"cannot read audit log `{directory}`: {error.message}"
    return VerifyReport(status=VerifyStatus.UNREADABLE, message=message)


def verify_lines(
    lines: Iterable[Line], checkpoints: Sequence[Checkpoint | BadCheckpoint] = ()
) -> VerifyReport:
    """The verification itself: a stream of lines against checkpoints with checked signatures."""
    walk = _Walk(checkpoints)
    remaining = iter(lines)
    torn: Line | None = None
    for line in remaining:
        if torn is not None:
            return walk.stop_at(torn, VerifyStatus.EDITED, None, "ends without a newline")
        if line.torn:
            torn = line
            continue
        problem = walk.step(line, remaining)
        if problem is not None:
            return problem
    return walk.conclude(torn)


class _Walk:
    """Follows the chain; its position moves only over sound records."""

    def __init__(self, checkpoints: Sequence[Checkpoint | BadCheckpoint]) -> None:
        self._head = ORIGIN
        self._records = 0
        self._mispinned: int | None = None
        self._pins: dict[int, set[str]] = {}
        self._bad: BadCheckpoint | None = None
        for item in checkpoints:
            if isinstance(item, Checkpoint):
                self._pins.setdefault(item.seq, set()).add(item.hash)
            else:
                self._bad = self._bad or item

    def step(self, line: Line, remaining: Iterator[Line]) -> VerifyReport | None:
        """Takes one line; `remaining` is read only to tell a gap from a changed order."""
        link = inspect(line.data)
        expected = self._head.seq + 1
        if isinstance(link, Flaw):
            return self.stop_at(line, VerifyStatus.EDITED, link.seq, link.message)
        if link.seq < expected:
            return self.stop_at(
                line, VerifyStatus.REORDERED, link.seq, f"comes again after record {expected - 1}"
            )
        if link.seq > expected:
            return self._missing(line, link, remaining)
        if link.prev != self._head.hash:
            return self.stop_at(
                line, VerifyStatus.EDITED, link.seq, "does not follow from the record before it"
            )
        self._follow(link)
        return None

    def conclude(self, torn: Line | None) -> VerifyReport:
        """The finding for a chain without a break."""
        beyond = max(self._pins, default=0)
        if self._mispinned is not None:
            message = f"record {self._mispinned} is not the one that a checkpoint signed"
            return self._report(VerifyStatus.TRUNCATED, message, bad_seq=self._mispinned)
        if beyond > self._head.seq:
            message = (
                f"the log ends at record {self._head.seq}, a checkpoint signed record {beyond}"
            )
            return self._report(VerifyStatus.TRUNCATED, message, bad_seq=self._head.seq + 1)
        if self._bad is not None:
            message = f"line {self._bad.line} of `{CHECKPOINTS}` {self._bad.message}"
            return self._report(VerifyStatus.CHECKPOINT_BAD, message, bad_line=self._bad.line)
        if torn is not None:
            message = f"line {torn.number} was cut short by a crash; the next writer mends it"
            return self._report(VerifyStatus.TORN_TAIL, message, bad_line=torn.number)
        if self._records == 0:
            return self._report(VerifyStatus.EMPTY, "the log has no records")
        pinned = f"record {beyond} is signed" if beyond else "no record is signed yet"
        return self._report(VerifyStatus.OK, f"{self._records} records are sound; {pinned}")

    def stop_at(self, line: Line, status: VerifyStatus, seq: int | None, what: str) -> VerifyReport:
        subject = f"line {line.number}" if seq is None else f"line {line.number}, record {seq},"
        return self._report(status, f"{subject} {what}", bad_seq=seq, bad_line=line.number)

    def _missing(self, line: Line, link: Link, remaining: Iterator[Line]) -> VerifyReport:
        expected = self._head.seq + 1
        for later in remaining:
            found = inspect(later.data)
            if isinstance(found, Link) and found.seq == expected:
                return self.stop_at(
                    line,
                    VerifyStatus.REORDERED,
                    link.seq,
                    f"comes before record {expected}, which is at line {later.number}",
                )
        return self.stop_at(
            line, VerifyStatus.GAP, link.seq, f"follows record {expected - 1}: records are missing"
        )

    def _follow(self, link: Link) -> None:
        self._head = link.head
        self._records += 1
        pinned = self._pins.get(link.seq)
        if pinned is not None and pinned != {link.hash} and self._mispinned is None:
            self._mispinned = link.seq

    def _report(
        self,
        status: VerifyStatus,
        message: str,
        *,
        bad_seq: int | None = None,
        bad_line: int | None = None,
    ) -> VerifyReport:
        return VerifyReport(
            status=status,
            message=message,
            records=self._records,
            head_seq=self._head.seq,
            head_hash=self._head.hash,
            checkpoints=len(self._pins),
            bad_seq=bad_seq,
            bad_line=bad_line,
        )


def _snapshot(directory: Path, files: Sequence[BinaryIO]) -> tuple[list[int], bytes]:
    """Sizes and checkpoints as of one moment between two commits."""
    if files:
        fcntl.flock(files[-1].fileno(), fcntl.LOCK_SH)
    try:
        sizes = [os.fstat(file.fileno()).st_size for file in files]
        path = directory / CHECKPOINTS
        return sizes, path.read_bytes() if path.exists() else b""
    finally:
        if files:
            fcntl.flock(files[-1].fileno(), fcntl.LOCK_UN)


def _all_lines(files: Sequence[BinaryIO], sizes: Sequence[int]) -> Iterator[Line]:
    for file, size in zip(files, sizes, strict=True):
        yield from read_lines(file, end=size)


def _check_all(
    content: bytes, directory: Path, trusted: Path | None
) -> list[Checkpoint | BadCheckpoint]:
    # A torn last line is a crash within an append; that checkpoint was never made.
    whole = [line for line in read_lines(BytesIO(content)) if not line.torn]
    if trusted is not None:
        key = load_public_key(trusted)
        if not whole:
            return [BadCheckpoint(1, "is missing, and a trusted key was given to check it")]
    elif not whole:
        return []
    try:
        key = load_public_key(trusted or directory / SIGNING_PUB)
    except AuditError as error:
        return [BadCheckpoint(1, f"cannot be checked: {error.message}")]
    return [check_line(line.data, line.number, key) for line in whole]
