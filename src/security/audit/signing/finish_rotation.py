"""(8) Putting a new signing key in place; why a verifier believes it is in `trust.py`.

The new key is written beside (`.signing.key.next`); then, under the lock of the log, come the
`KeyRotated` record, a checkpoint by the old key, the exchange of the files, and a checkpoint by the
new key. If a crash cuts that short, the next writer finishes it if the record is in the log, and
forgets it if not. The old private key is gone afterwards. A lock of its own keeps two rotations
apart.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from caps.protocol.errors import AuditError
from caps.security.audit.signing.checkpoint import (
    Signer,
    key_id,
    new_private_pem,
    public_pem,
    read_private_key,
)
from caps.security.audit.files.key_files import SIGNING_KEY, SIGNING_PUB, sync_directory
from caps.security.audit.files.reader import log_lines
from caps.security.audit.model.records import KeyRotated
from caps.security.audit.files.regular_files import read_regular
from caps.security.audit.signing.keyring import rotations, stated

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from caps.security.audit.log.segment import Segment
    from caps.security.audit.sinks.urls import SinkAddress

_NEXT: Final = ".signing.key.next"
_LOCK: Final = ".signing.key.lock"


def rotate_key_of(directory: Path, sinks: Sequence[SinkAddress] = ()) -> KeyRotated:
    """Makes another key the one that signs for a log; the record of it, which the sinks get, too.

    Others may write the log meanwhile. Raises `AuditError`; then the old key signs on, or the next
    writer finishes the exchange.
    """
    from caps.security.audit.log.log import AuditLog

    log = AuditLog.open(directory, sinks=sinks)
    try:
        return log.rotate_key()
    finally:
        log.close()


def rotate_key(segment: Segment, directory: Path) -> KeyRotated:
    """The same through a segment that is open; the caller has it to itself."""
    drawn: list[KeyRotated] = []

    def draw_up() -> KeyRotated:
        # Under the lock of the log: the key in place now is the one that has to vouch.
        drawn.append(_statement(Signer.load(directory), read_private_key(draft).public_key()))
        return drawn[0]

    try:
        with _one_at_a_time(directory, wait=True):
            _finish(directory)
            draft = _draft(directory)
            segment.change_key(draw_up, lambda: _exchange(directory))
    except OSError as error:
        raise AuditError(f"cannot rotate the key of `{directory}`: {error.strerror}") from error
    return drawn[0]


def finish_rotation(directory: Path, *, wait: bool = True) -> None:
    """Ends what a crash left of a rotation. Raises `OSError` or `AuditError`.

    If not `wait`, a rotation under way is left to the process that is at it.
    """
    if not (directory / _NEXT).exists():
        return
    try:
        with _one_at_a_time(directory, wait=wait):
            _finish(directory)
    except BlockingIOError:
        return


def _finish(directory: Path) -> None:
    draft = directory / _NEXT
    if not draft.exists():
        return
    named = key_id(read_private_key(draft).public_key())
    if any(event.new_key_id == named for _, event in rotations(log_lines(directory))):
        _exchange(directory)
    else:
        draft.unlink()


def _draft(directory: Path) -> Path:
    path = directory / _NEXT
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(new_private_pem())
        file.flush()
        os.fsync(file.fileno())
    sync_directory(directory)
    return path


def _exchange(directory: Path) -> None:
    """Public first: until the private one is in place, the draft says that this is unfinished."""
    added = public_pem(read_private_key(directory / _NEXT).public_key())
    known = read_regular(directory / SIGNING_PUB)
    if not known.endswith(added):
        beside = directory / f".{SIGNING_PUB}.next"
        with beside.open("wb") as file:
            file.write(known + added)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(directory / SIGNING_PUB)
        sync_directory(directory)
    (directory / _NEXT).replace(directory / SIGNING_KEY)
    sync_directory(directory)


@contextmanager
def _one_at_a_time(directory: Path, *, wait: bool) -> Iterator[None]:
    fd = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(fd)


def _statement(signer: Signer, new: Ed25519PublicKey) -> KeyRotated:
    unsigned = KeyRotated(
        old_key_id=signer.key_id,
        new_key_id=key_id(new),
        new_public_key=new.public_bytes_raw().hex(),
        signature="",
    )
    return msgspec.structs.replace(unsigned, signature=signer.sign_bytes(stated(unsigned)).hex())
