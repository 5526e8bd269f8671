"""(8) Checkpoints: signed statements "the chain had this hash at this number".

The chain alone cannot show that its end was cut off, or that all of it was written anew. A
checkpoint can: it pins one head with an Ed25519 signature over

    "caps.audit.checkpoint.v1" NUL + canonical({hash, key_id, seq, ts, v})

and is appended to `checkpoints.jsonl`. What it proves rests on where the key and the checkpoints
are: whoever can write the directory *and* read `signing.key` can forge both. Keep a copy of
`signing.pub` and of the newest checkpoint elsewhere, and verify against them.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from caps.protocol.errors import AuditError
from caps.security.audit.chain import Head
from caps.security.audit.keyfiles import SIGNING_KEY, SIGNING_PUB, read_or_create
from caps.security.audit.records import timestamp

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

CHECKPOINTS: Final = "checkpoints.jsonl"

_DOMAIN: Final = b"caps.audit.checkpoint.v1\0"
_MAX_CHECKPOINT_BYTES: Final = 4096
_encode: Final = msgspec.json.Encoder(order="sorted").encode


class Checkpoint(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """One line of `checkpoints.jsonl`; `sig` is hexadecimal, and absent from what is signed."""

    version: int = msgspec.field(name="v")
    seq: int
    hash: str
    ts: str
    key_id: str
    sig: str | None = None

    def signed_bytes(self) -> bytes:
        return _DOMAIN + _encode(msgspec.structs.replace(self, sig=None))


@dataclass(frozen=True, slots=True)
class BadCheckpoint:
    """A line of the checkpoint file that proves nothing, and why."""

    line: int
    message: str


class Signer:
    """Signs heads with the private key of a log directory."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self._key_id = key_id(key.public_key())

    @classmethod
    def load(cls, directory: Path) -> Signer:
        """Reads the directory's key pair, or makes it. Raises `OSError` or `AuditError`."""
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        pem = read_or_create(directory / SIGNING_KEY, _new_private_pem)
        try:
            key = serialization.load_pem_private_key(pem, password=None)
        except ValueError as error:
            raise AuditError(f"`{directory / SIGNING_KEY}` is not a private key in PEM") from error
        if not isinstance(key, Ed25519PrivateKey):
            raise AuditError(f"`{directory / SIGNING_KEY}` is not an Ed25519 key")
        public_pem = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        if read_or_create(directory / SIGNING_PUB, lambda: public_pem, mode=0o644) != public_pem:
            raise AuditError(f"`{directory / SIGNING_PUB}` does not belong to `{SIGNING_KEY}`")
        return cls(key)

    def sign(self, head: Head) -> Checkpoint:
        unsigned = Checkpoint(
            version=1, seq=head.seq, hash=head.hash, ts=timestamp(), key_id=self._key_id
        )
        signature = self._key.sign(unsigned.signed_bytes())
        return msgspec.structs.replace(unsigned, sig=signature.hex())


def append_checkpoint(directory: Path, checkpoint: Checkpoint) -> None:
    """Adds a line durably; the caller holds the log's lock. Raises `OSError`."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = os.open(directory / CHECKPOINTS, flags, 0o600)
    with os.fdopen(fd, "r+b") as file:
        end = _end_of_last_line(fd, os.fstat(fd).st_size)
        file.truncate(end)
        file.seek(end)
        file.write(_encode(checkpoint) + b"\n")
        file.flush()
        os.fdatasync(fd)


def load_public_key(path: Path) -> Ed25519PublicKey:
    """Raises `AuditError` when `path` holds no Ed25519 public key in PEM."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = serialization.load_pem_public_key(path.read_bytes())
    except (OSError, ValueError) as error:
        raise AuditError(f"cannot read the public key `{path}`") from error
    if not isinstance(key, Ed25519PublicKey):
        raise AuditError(f"`{path}` is not an Ed25519 public key")
    return key


def check_line(line: bytes, number: int, key: Ed25519PublicKey) -> Checkpoint | BadCheckpoint:
    """Reads and verifies one line of a checkpoint file."""
    from cryptography.exceptions import InvalidSignature

    try:
        checkpoint = msgspec.json.decode(line, type=Checkpoint)
        signature = bytes.fromhex(checkpoint.sig or "")
        if checkpoint.key_id != key_id(key):
            return BadCheckpoint(number, f"was signed with another key, `{checkpoint.key_id}`")
        key.verify(signature, checkpoint.signed_bytes())
    except InvalidSignature:
        return BadCheckpoint(number, "has a wrong signature")
    except (msgspec.DecodeError, ValueError):
        return BadCheckpoint(number, "is not a checkpoint")
    return checkpoint


def key_id(key: Ed25519PublicKey) -> str:
    """A short name for a public key."""
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()[:16]


def _new_private_pem() -> bytes:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _end_of_last_line(fd: int, size: int) -> int:
    # A crash within an append leaves part of a line, which proves nothing and is dropped.
    start = max(0, size - _MAX_CHECKPOINT_BYTES)
    return start + os.pread(fd, size - start, start).rfind(b"\n") + 1
