"""(8) Writing checkpoints with the current key, to the log directory and to a directory of copies.

Runs under the lock of the log. The key file is checked each time, since another process may have
rotated it. The directory of copies gets every line that it lacks, so it catches up after a failure.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

from caps.protocol.disk.key_file import read_or_create
from caps.protocol.disk.regular_files import read_regular
from caps.protocol.errors import AuditError
from caps.security.audit.files.key_files import SIGNING_KEY, SIGNING_PUB
from caps.security.audit.model.chain import Head
from caps.security.audit.signing.checkpoint import (
    CHECKPOINTS,
    Checkpoint,
    Signer,
    append_checkpoint,
    append_lines,
    last_checkpoint_line,
    last_signed_record,
)
from caps.security.audit.signing.finish_rotation import finish_rotation

logger = logging.getLogger(__name__)


class CheckpointWriter:
    """Signs heads for one log directory."""

    def __init__(self, directory: Path, copies: Path | None = None) -> None:
        """`copies` is a directory that also gets every checkpoint, and the public key.

        Raises `OSError`; `AuditError` if a key file is not a key, or if `copies` cannot be written
        or belongs to another log.
        """
        self.on_checkpoint: Callable[[int, bytes], None] | None = None
        finish_rotation(directory)
        self._directory = directory
        self._copies = copies
        self._copy_error: OSError | None = None
        # In this order, so that a key that is replaced in between is noticed and loaded again.
        key = directory / SIGNING_KEY
        self._key_file = _identity(key) if key.exists() else None
        self._signer = _load_signer(directory)
        self.signed_seq = last_signed_record(directory)
        """The newest record that a durable checkpoint signs, as far as this process knows."""
        if copies is not None:
            try:
                self._prepare(copies)
            except OSError as error:
                is_file = isinstance(error, FileExistsError)
                reason = "it is not a directory" if is_file else error.strerror
                raise AuditError(f"cannot send checkpoints to `{copies}`: {reason}") from error

    def sign(self, head: Head, segment: int) -> None:
        """Write a checkpoint durably, also to the copies. Raises `OSError` or `AuditError`."""
        finish_rotation(self._directory, wait=False)
        current = _identity(self._directory / SIGNING_KEY)
        if current != self._key_file:
            self._signer = Signer.load(self._directory)
            self._key_file = current
        checkpoint = self._signer.sign(head, segment=segment)
        append_checkpoint(self._directory, checkpoint)
        self.signed_seq = checkpoint.seq
        if self.on_checkpoint is not None:
            self.on_checkpoint(checkpoint.seq, checkpoint.encode())
        if self._copies is not None:
            self._try_copy(self._copies, checkpoint)

    def _prepare(self, copies: Path) -> None:
        copies.mkdir(mode=0o700, parents=True, exist_ok=True)
        own = read_regular(self._directory / SIGNING_PUB)
        kept = read_or_create(copies / SIGNING_PUB, lambda: own, mode=0o644)
        # After a rotation ours has more keys than the copy; the common keys come first.
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
        # The checkpoint itself exists, so a failed copy must not make every commit write it again:
        # the next copy includes this one, and `check_copies` reports the last failure.
        try:
            self._copy(copies, newest)
            self._copy_error = None
        except OSError as error:
            self._copy_error = error
            logger.warning("a checkpoint cannot be kept in `%s`: %s", copies, error.strerror)

    def check_copies(self) -> None:
        """Raise `OSError` if the last checkpoint could not be copied."""
        if self._copy_error is not None:
            raise self._copy_error

    def _copy(self, copies: Path, newest: Checkpoint) -> None:
        if read_regular(copies / SIGNING_PUB) != read_regular(self._directory / SIGNING_PUB):
            self._renew_key(copies)
        own = read_regular(self._directory / CHECKPOINTS)
        last = last_checkpoint_line(copies)
        # A copy whose last line is not in our file is evidence against us: it is only added to.
        at = own.rfind(last) if last else 0
        append_lines(copies, own[at + len(last) :] if at >= 0 else newest.encode() + b"\n")


def _load_signer(directory: Path) -> Signer:
    try:
        return Signer.load(directory)
    except AuditError:
        # Another process may have replaced only one of the two key files in a rotation. After it
        # has finished, the files match, or they never did.
        finish_rotation(directory)
        return Signer.load(directory)


def _identity(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return (status.st_ino, status.st_mtime_ns, status.st_size)
