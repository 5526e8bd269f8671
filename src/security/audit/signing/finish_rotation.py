"""(8) Rotation of the signing key; `keyring.py` says why a verifier trusts the new one.

The new key is first written to `.signing.key.next`. Then, under the lock of the log, follow the
`KeyRotated` record, a checkpoint by the old key, the exchange of the key files, and a checkpoint by
the new key. After a crash in between, the next writer finishes the rotation if the record is in the
log, and drops the new key if not. The old private key does not exist afterwards. A separate lock
prevents two concurrent rotations.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from caps.protocol.disk.regular_files import (
    CREATE_FLAGS,
    create_synced,
    read_regular,
    sync_directory,
    write_synced,
)
from caps.protocol.errors import AuditError
from caps.security.audit.files.key_files import SIGNING_KEY, SIGNING_PUB
from caps.security.audit.files.reader import log_lines
from caps.security.audit.model.records import KeyRotated
from caps.security.audit.signing.checkpoint import (
    Signer,
    key_id,
    new_private_pem,
    public_pem,
    read_private_key,
)
from caps.security.audit.signing.keyring import rotation_statement, rotations

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from caps.security.audit.log.segment import Segment
    from caps.security.audit.sinks.urls import SinkAddress

_NEXT: Final = ".signing.key.next"
_LOCK: Final = ".signing.key.lock"


def rotate_key_of(directory: Path, sinks: Sequence[SinkAddress] = ()) -> KeyRotated:
    """Replace the signing key of a log; return the record of it, which the sinks get, too.

    Other processes may write the log meanwhile. Raises `AuditError`; then the old key stays in use,
    or the next writer finishes the exchange.
    """
    from caps.security.audit.log.log import AuditLog

    log = AuditLog.open(directory, sinks=sinks)
    try:
        return log.rotate_key()
    finally:
        log.close()


def rotate_key(segment: Segment, directory: Path) -> KeyRotated:
    """`rotate_key_of` through an open segment, which only the caller uses meanwhile."""

    def make_record() -> KeyRotated:
        # Runs under the lock of the log, so that the current key is the one that signs.
        return _statement(Signer.load(directory), read_private_key(draft).public_key())

    try:
        with _rotation_lock(directory, wait=True):
            _finish(directory)
            draft = directory / _NEXT
            create_synced(draft, new_private_pem())
            sync_directory(directory)
            return segment.change_key(make_record, lambda: _exchange(directory))
    except OSError as error:
        raise AuditError(f"cannot rotate the key of `{directory}`: {error.strerror}") from error


def finish_rotation(directory: Path, *, wait: bool = True) -> None:
    """Finish or drop a rotation that a crash interrupted. Raises `OSError` or `AuditError`.

    If not `wait`, a rotation in progress is left to its own process.
    """
    if not (directory / _NEXT).exists():
        return
    with suppress(BlockingIOError), _rotation_lock(directory, wait=wait):
        _finish(directory)


def _finish(directory: Path) -> None:
    draft = directory / _NEXT
    if not draft.exists():
        return
    new = key_id(read_private_key(draft).public_key())
    if any(event.new_key_id == new for _, event in rotations(log_lines(directory))):
        _exchange(directory)
    else:
        draft.unlink()


def _exchange(directory: Path) -> None:
    """The public key comes first: until the private one is in place, `_NEXT` marks the work."""
    added = public_pem(read_private_key(directory / _NEXT).public_key())
    known = read_regular(directory / SIGNING_PUB)
    if not known.endswith(added):
        draft = directory / f".{SIGNING_PUB}.next"
        with draft.open("wb") as file:
            write_synced(file, known + added)
        draft.replace(directory / SIGNING_PUB)
        sync_directory(directory)
    (directory / _NEXT).replace(directory / SIGNING_KEY)
    sync_directory(directory)


@contextmanager
def _rotation_lock(directory: Path, *, wait: bool) -> Iterator[None]:
    fd = os.open(directory / _LOCK, CREATE_FLAGS, 0o600)
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
    return msgspec.structs.replace(
        unsigned, signature=signer.sign_bytes(rotation_statement(unsigned)).hex()
    )
