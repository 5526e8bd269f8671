"""(8) Verification: is this the log that was written, all of it, in its order?

What is told apart, and how:

- edited: a line is not a record, does not match its own hash, is spelt otherwise, or a record does
  not carry the hash of the one before although their numbers follow;
- gap: the numbers jump, and the missing record is nowhere later;
- lost segment: the same, where the numbers of the files jump too; or a signed checkpoint names a
  file that is gone;
- reordered: the numbers jump, and the missing record comes later;
- duplicated: a record comes again;
- forked: another record with a number that was there already, or that a signed checkpoint pins
  otherwise: two histories;
- truncated: a signed checkpoint names a record beyond the end;
- unknown key: a checkpoint was signed with a key that is not among the known ones, that none of
  them vouches for in a `KeyRotated` record, or that such a record had retired;
- checkpoint bad: a checkpoint is malformed or its signature is wrong;
- torn tail: the last line has no newline. A crash does that; the next writer mends it.

Findings about lines come first and end the check; those about checkpoints are looked for when the
chain itself is sound. A log that lost its end *and* its later checkpoints looks shorter, not
broken: verify it against checkpoints that are kept elsewhere.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import msgspec

from caps.protocol.errors import AuditError
from caps.security.audit.signing.checkpoint import (
    CHECKPOINTS,
    BadCheckpoint,
    Checkpoint,
    load_public_keys,
)
from caps.security.audit.findings import VerifyReport, VerifyStatus
from caps.security.audit.files.key_files import SIGNING_PUB
from caps.security.audit.files.reader import (
    Line,
    SegmentFile,
    open_segment,
    read_lines,
    segment_paths,
)
from caps.security.audit.model.records import KeyRotated
from caps.security.audit.files.regular_files import read_regular
from caps.security.audit.signing.keyring import KeyRing, rotations
from caps.security.audit.verify.chain_walk import Walk

__all__ = ["VerifyReport", "VerifyStatus", "checked_checkpoints", "verify_lines", "verify_log"]


def verify_log(
    directory: Path, *, public_key: Path | None = None, kept_checkpoints: Path | None = None
) -> VerifyReport:
    """Verifies a log directory as it is at this moment; writers may go on meanwhile.

    `public_key` is a trusted copy of `signing.pub`; without it the directory's own is believed.
    With it, a log without any checkpoint is not believed: whoever cuts a log would delete them.
    `kept_checkpoints` is a copy of checkpoints that was kept elsewhere; the log is held against
    both; a directory that checkpoints were sent to will do.
    """
    try:
        moment = _Moment.of(directory)
        told = rotations(moment)
        files = {CHECKPOINTS: moment.checkpoints}
        if kept_checkpoints is not None:
            files |= _kept(kept_checkpoints)
        # Each by itself: what a crash left of a line in one must not run into another.
        counted = [name for name in files if _whole(files[name])] or [CHECKPOINTS]
        pins = [
            msgspec.structs.replace(pin, file=name) if isinstance(pin, BadCheckpoint) else pin
            for name in counted
            for pin in checked_checkpoints(_whole(files[name]), directory, public_key, told=told)
        ]
        return verify_lines(moment, pins, segments=[path.name for path in moment.paths])
    except OSError as error:
        message = f"cannot read audit log `{directory}`: {error.strerror}"
    except AuditError as error:
        message = f"cannot read audit log `{directory}`: {error.message}"
    return VerifyReport(status=VerifyStatus.UNREADABLE, message=message)


def verify_lines(
    lines: Iterable[Line],
    checkpoints: Sequence[Checkpoint | BadCheckpoint] = (),
    *,
    segments: Sequence[str] = (),
) -> VerifyReport:
    """The verification itself: lines against checkpoints with checked signatures.

    Lines are looked at a second time when a record comes again, so an iterator is stored first.
    """
    source = list(lines) if isinstance(lines, Iterator) else lines
    walk = Walk(checkpoints, segments, source)
    remaining = iter(source)
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


def checked_checkpoints(
    content: bytes,
    directory: Path,
    trusted: Path | None = None,
    *,
    told: Iterable[tuple[int, KeyRotated]] = (),
) -> list[Checkpoint | BadCheckpoint]:
    """Every checkpoint in `content`, held against the trusted key or the directory's own.

    `told` are the rotations that the log tells of: keys that a known one vouches for count, too.

    Raises `AuditError` when the trusted key cannot be read.
    """
    whole = [line for line in read_lines(BytesIO(content)) if not line.torn]
    if trusted is not None:
        keys = load_public_keys(trusted)
        if not whole:
            return [BadCheckpoint(1, "is missing, and a trusted key was given to check it")]
    elif not whole:
        return []
    else:
        try:
            keys = load_public_keys(directory / SIGNING_PUB)
        except AuditError as error:
            return [BadCheckpoint(1, f"cannot be checked: {error.message}")]
    ring = KeyRing.following(keys, told)
    return [ring.check_line(line.data, line.number) for line in whole]


def _kept(path: Path) -> dict[str, bytes]:
    """Checkpoints that were kept elsewhere: a file, or the directory that they were sent to."""
    file = path / CHECKPOINTS if path.is_dir() else path
    try:
        return {str(file.absolute()): read_regular(file)}
    except OSError as error:
        raise AuditError(f"the checkpoints `{file}`: {error.strerror}") from error


def _whole(content: bytes) -> bytes:
    # A torn last line is a crash within an append; that checkpoint was never made.
    return content[: content.rfind(b"\n") + 1]


@dataclass(frozen=True, slots=True)
class _Moment:
    """A log between two commits: its files, how far the last one counts, its checkpoints.

    Iterating reads the lines; as often as one likes, one file open at a time.
    """

    paths: tuple[Path, ...]
    last_size: int
    checkpoints: bytes

    @classmethod
    def of(cls, directory: Path) -> _Moment:
        while True:
            paths = tuple(segment_paths(directory))
            if not paths:
                return cls((), 0, _checkpoints_of(directory))
            with open_segment(paths[-1]) as last:
                moment = cls._under_lock(directory, paths, last)
            if moment is not None:
                return moment

    @classmethod
    def _under_lock(
        cls, directory: Path, paths: tuple[Path, ...], last: SegmentFile
    ) -> _Moment | None:
        """None if the log was rotated while its last file was being opened."""
        fcntl.flock(last.fileno(), fcntl.LOCK_SH)
        try:
            if tuple(segment_paths(directory)) != paths:
                return None
            return cls(paths, os.fstat(last.fileno()).st_size, _checkpoints_of(directory))
        finally:
            fcntl.flock(last.fileno(), fcntl.LOCK_UN)

    def __iter__(self) -> Iterator[Line]:
        for path in self.paths:
            with open_segment(path) as file:
                if path is self.paths[-1] and path.suffix != ".gz":
                    yield from read_lines(file, end=self.last_size, segment=path.name)
                else:
                    yield from read_lines(file, segment=path.name)


def _checkpoints_of(directory: Path) -> bytes:
    path = directory / CHECKPOINTS
    return read_regular(path) if path.exists() else b""
