"""(8) Verification: is this the log that was written, complete and in order?

The problems that it distinguishes:

- edited: a line is not a record, does not match its own hash, is encoded differently, or a record
  does not carry the hash of the previous one although their numbers are consecutive;
- gap: the numbers jump, and the missing record is nowhere later;
- lost segment: the same, where the numbers of the files jump too; or a signed checkpoint names a
  file that is gone;
- reordered: the numbers jump, and the missing record comes later;
- duplicated: a record occurs twice;
- forked: a different record with a number that was there already, or that differs from the record
  that a signed checkpoint pins: two histories;
- truncated: a signed checkpoint names a record beyond the end;
- unknown key: a checkpoint was signed with a key that is not known, and that no known key signed
  for in a `KeyRotated` record, or with a key that such a record had retired;
- checkpoint bad: a checkpoint is malformed, its signature is wrong, or it is missing although a
  later record mentions it (`signed_seq`);
- torn tail: the last line has no newline. A crash does that; the next writer mends it.

Problems of lines come first and end the check; checkpoints are compared when the chain itself is
sound. A log that lost its end *and* its later checkpoints looks shorter, not broken: verify it
against checkpoints that are kept elsewhere.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import msgspec

from caps.protocol.disk.regular_files import read_regular
from caps.protocol.errors import AuditError
from caps.security.audit.files.key_files import SIGNING_PUB
from caps.security.audit.files.reader import (
    Line,
    SegmentFile,
    open_segment,
    read_lines,
    segment_paths,
)
from caps.security.audit.model.records import KeyRotated
from caps.security.audit.signing.checkpoint import (
    CHECKPOINTS,
    BadCheckpoint,
    Checkpoint,
    complete_lines,
    load_public_keys,
    read_checkpoints,
)
from caps.security.audit.signing.keyring import KeyRing, rotations
from caps.security.audit.verify.chain_walk import ChainWalk, VerifyReport, VerifyStatus

__all__ = ["VerifyReport", "VerifyStatus", "checked_checkpoints", "verify_lines", "verify_log"]


def verify_log(
    directory: Path, *, public_key: Path | None = None, kept_checkpoints: Path | None = None
) -> VerifyReport:
    """Verify a log directory as it is at this moment; writers may continue meanwhile.

    `public_key` is a trusted copy of `signing.pub`; without it the directory's own key is trusted.
    With it, a log without any checkpoint is not accepted: an attacker who cuts a log would delete
    them. `kept_checkpoints` is a copy of the checkpoints that was kept elsewhere, or the directory
    of `checkpoints_to`; the log is verified against both.
    """
    try:
        snapshot = _LogSnapshot.of(directory)
        found = rotations(snapshot)
        files = {CHECKPOINTS: complete_lines(snapshot.checkpoints)}
        if kept_checkpoints is not None:
            files |= _kept(kept_checkpoints)
        # Each file separately: a torn line in one must not be joined with a line of another.
        names = [name for name in files if files[name]] or [CHECKPOINTS]
        pins = [
            msgspec.structs.replace(pin, file=name) if isinstance(pin, BadCheckpoint) else pin
            for name in names
            for pin in checked_checkpoints(files[name], directory, public_key, found=found)
        ]
        return verify_lines(snapshot, pins, segments=[path.name for path in snapshot.paths])
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
    """Verify lines against checkpoints whose signatures were checked.

    Lines are read a second time when a record occurs twice, so an iterator is stored first.
    """
    source = list(lines) if isinstance(lines, Iterator) else lines
    walk = ChainWalk(checkpoints, segments, source)
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
    found: Iterable[tuple[int, KeyRotated]] = (),
) -> list[Checkpoint | BadCheckpoint]:
    """Check every checkpoint in `content` against the trusted key, or the directory's own.

    `found` are the rotations in the log: keys that a known key signed for are accepted, too.
    Raises `AuditError` if the trusted key cannot be read.
    """
    lines = [line for line in read_lines(BytesIO(content)) if not line.torn]
    if trusted is not None:
        keys = load_public_keys(trusted)
        if not lines:
            return [BadCheckpoint(1, "is missing, and a trusted key was given to check it")]
    elif not lines:
        return []
    else:
        try:
            keys = load_public_keys(directory / SIGNING_PUB)
        except AuditError as error:
            return [BadCheckpoint(1, f"cannot be checked: {error.message}")]
    ring = KeyRing.following(keys, found)
    return [ring.check_line(line.data, line.number) for line in lines]


def _kept(path: Path) -> dict[str, bytes]:
    """Read checkpoints that were kept elsewhere: a file, or the directory of `checkpoints_to`."""
    file = path / CHECKPOINTS if path.is_dir() else path
    try:
        return {str(file.absolute()): complete_lines(read_regular(file))}
    except OSError as error:
        raise AuditError(f"the checkpoints `{file}`: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class _LogSnapshot:
    """A log between two commits: its files, the committed size of the last one, its checkpoints.

    Iteration reads the lines; it may be repeated, and opens one file at a time.
    """

    paths: tuple[Path, ...]
    last_size: int
    checkpoints: bytes

    @classmethod
    def of(cls, directory: Path) -> _LogSnapshot:
        while True:
            paths = tuple(segment_paths(directory))
            if not paths:
                return cls((), 0, read_checkpoints(directory))
            with open_segment(paths[-1]) as last:
                snapshot = cls._under_lock(directory, paths, last)
            if snapshot is not None:
                return snapshot

    @classmethod
    def _under_lock(
        cls, directory: Path, paths: tuple[Path, ...], last: SegmentFile
    ) -> _LogSnapshot | None:
        """Return None if the log was rotated while its last file was being opened."""
        fcntl.flock(last.fileno(), fcntl.LOCK_SH)
        try:
            if tuple(segment_paths(directory)) != paths:
                return None
            return cls(paths, os.fstat(last.fileno()).st_size, read_checkpoints(directory))
        finally:
            fcntl.flock(last.fileno(), fcntl.LOCK_UN)

    def __iter__(self) -> Iterator[Line]:
        for path in self.paths:
            with open_segment(path) as file:
                if path is self.paths[-1] and path.suffix != ".gz":
                    yield from read_lines(file, end=self.last_size, segment=path.name)
                else:
                    yield from read_lines(file, segment=path.name)
