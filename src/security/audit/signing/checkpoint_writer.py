"""(8) Writing checkpoints: with the key that the directory has now, here and in every other place.

Runs under the lock of the log. The key file is looked at each time, since another process may have
rotated it. A place elsewhere gets what it lacks, so one that was away for a while catches up.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from caps.protocol.errors import AuditError
from caps.security.audit.model.chain import Head
from caps.security.audit.signing.checkpoint import (
    CHECKPOINTS,
    Checkpoint,
    Signer,
    append_checkpoint,
    append_line,
    last_checkpoint_line,
)
from caps.security.audit.signing.finish_rotation import finish_rotation
from caps.security.audit.files.key_files import SIGNING_KEY, SIGNING_PUB, read_or_create
from caps.security.audit.files.regular_files import read_regular

logger = logging.getLogger(__name__)


class Notary:
    """Signs heads for one log directory."""

    def __init__(self, directory: Path, copies: Path | None = None) -> None:
        """`copies` is a directory that gets every checkpoint, too, and the public key.

        Raises `OSError`; `AuditError` if a key is not a key, or `copies` cannot be written or is
        of another log.
        """
        self.on_checkpoint: Callable[[int, bytes], None] | None = None
        finish_rotation(directory)
        self._directory = directory
        self._copies = copies
        self._behind: OSError | None = None
        # In this order: a key that is replaced in between is noticed, and loaded again.
        key = directory / SIGNING_KEY
        self._key_file = _identity(key) if key.exists() else None
        self._signer = _loaded(directory)
        if copies is not None:
            try:
                self._prepare(copies)
            except OSError as error:
                there = isinstance(error, FileExistsError)
                reason = "it is not a directory" if there else error.strerror
                raise AuditError(f"cannot send checkpoints to `{copies}`: {reason}") from error

    def sign(self, head: Head, segment: int) -> None:
        """Makes a checkpoint durable, here and elsewhere. Raises `OSError` or `AuditError`."""
        finish_rotation(self._directory, wait=False)
        found = _identity(self._directory / SIGNING_KEY)
        if found != self._key_file:
            self._signer = Signer.load(self._directory)
            self._key_file = found
        checkpoint = self._signer.sign(head, segment=segment)
        append_checkpoint(self._directory, checkpoint)
        if self.on_checkpoint is not None:
            self.on_checkpoint(checkpoint.seq, msgspec.json.encode(checkpoint, order="sorted"))
        if self._copies is not None:
            self._try_copy(self._copies, checkpoint)

    def _prepare(self, copies: Path) -> None:
        copies.mkdir(mode=0o700, parents=True, exist_ok=True)
        own = read_regular(self._directory / SIGNING_PUB)
        kept = read_or_create(copies / SIGNING_PUB, lambda: own, mode=0o644)
        # After a rotation ours has more keys than the copy; what is common comes first.
        if not own.startswith(kept):
            raise AuditError(f"`{copies}` keeps the checkpoints of another log; name another place")
        if own != kept:
            self._renew_key(copies)

    def _renew_key(self, copies: Path) -> None:
        own = read_regular(self._directory / SIGNING_PUB)
        draft = copies / f".{SIGNING_PUB}.{os.getpid()}"
        draft.write_bytes(own)
        draft.rename(copies / SIGNING_PUB)

    def _try_copy(self, copies: Path, newest: Checkpoint) -> None:
        # The checkpoint is made, so it must not be made again with every commit for the want of
        # its copy: the next one brings this one along, and `settle` reports the last.
        try:
            self._copy(copies, newest)
            self._behind = None
        except OSError as error:
            self._behind = error
            logger.warning("a checkpoint cannot be kept in `%s`: %s", copies, error.strerror)

    def settle(self) -> None:
        """Raises `OSError` if the last checkpoint is not where it was to be sent."""
        if self._behind is not None:
            raise self._behind

    def _copy(self, copies: Path, newest: Checkpoint) -> None:
        if read_regular(copies / SIGNING_PUB) != read_regular(self._directory / SIGNING_PUB):
            self._renew_key(copies)
        own = read_regular(self._directory / CHECKPOINTS)
        last = last_checkpoint_line(copies)
        # A copy that ends in what we do not have is evidence against us: it is only added to.
        at = own.rfind(last) if last else 0
        if at >= 0:
            missing = own[at + len(last) :]
        else:
            missing = msgspec.json.encode(newest, order="sorted") + b"\n"
        append_line(copies, missing)


def _loaded(directory: Path) -> Signer:
    try:
        return Signer.load(directory)
    except AuditError:
        # Another process may be just between the two files of a rotation: when it is done, they
        # belong together again, or never did.
        finish_rotation(directory)
        return Signer.load(directory)


def _identity(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return (status.st_ino, status.st_mtime_ns, status.st_size)
