"""(8) Checkpoints: signed statements "the chain had this hash at this number".

The chain alone cannot show that its end was cut off, or that all of it was rewritten. A checkpoint
can: it pins one head with an Ed25519 signature over

    "caps.audit.checkpoint.v1" NUL + canonical({hash, key_id, segment, seq, ts, v})

and is appended to `checkpoints.jsonl`. `segment` is the number of the file that holds the head. It
distinguishes a lost file from a cut one; checkpoints of old logs lack it.

What a checkpoint proves depends on where the key and the checkpoints are kept: anyone who can write
the directory *and* read `signing.key` can forge both. Keep a copy of `signing.pub` and of the
newest checkpoint elsewhere, and verify against them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from caps.protocol.disk.key_file import MAX_KEY_BYTES, read_or_create
from caps.protocol.disk.regular_files import (
    CREATE_FLAGS,
    open_regular,
    read_regular,
    require_regular,
    sync_directory,
)
from caps.protocol.errors import AuditError
from caps.security.audit.files.key_files import SIGNING_KEY, SIGNING_PUB
from caps.security.audit.model.chain import Head
from caps.security.audit.model.records import timestamp

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

CHECKPOINTS: Final = "checkpoints.jsonl"

_DOMAIN: Final = b"caps.audit.checkpoint.v1\0"
_MAX_CHECKPOINT_BYTES: Final = 4096
_PEM_END: Final = b"-----END PUBLIC KEY-----"
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
    segment: int | None = None
    sig: str | None = None

    def encode(self) -> bytes:
        """Return the line without its newline."""
        return _encode(self)

    def signed_bytes(self) -> bytes:
        """Return the bytes that the signature covers."""
        return _DOMAIN + _encode(msgspec.structs.replace(self, sig=None))


class BadCheckpoint(msgspec.Struct, frozen=True):
    """A line of a checkpoint file that proves nothing, and the reason."""

    line: int
    message: str
    seq: int | None = None
    """The record that the line claims to pin."""
    unknown_key: bool = False
    file: str = CHECKPOINTS
    """The file of the line: that of the log, or a copy that was kept elsewhere."""


class Signer:
    """Signs heads with the private key of a log directory."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.key_id = key_id(key.public_key())

    @classmethod
    def load(cls, directory: Path) -> Signer:
        """Read the directory's key pair, or create it. Raises `OSError` or `AuditError`."""
        read_or_create(directory / SIGNING_KEY, new_private_pem)
        key = read_private_key(directory / SIGNING_KEY)
        own = public_pem(key.public_key())
        # After a rotation the file has the older keys before the current one.
        known = read_or_create(directory / SIGNING_PUB, lambda: own, mode=0o644)
        if not known.endswith(own):
            raise AuditError(f"`{directory / SIGNING_PUB}` does not belong to `{SIGNING_KEY}`")
        return cls(key)

    def sign(self, head: Head, *, segment: int | None = None) -> Checkpoint:
        unsigned = Checkpoint(
            version=1,
            seq=head.seq,
            hash=head.hash,
            ts=timestamp(),
            key_id=self.key_id,
            segment=segment,
        )
        signature = self.sign_bytes(unsigned.signed_bytes())
        return msgspec.structs.replace(unsigned, sig=signature.hex())

    def sign_bytes(self, statement: bytes) -> bytes:
        """Sign `statement`; its first bytes must name the kind of statement."""
        return self._key.sign(statement)


def append_checkpoint(directory: Path, checkpoint: Checkpoint) -> None:
    """Append a checkpoint durably; the caller holds the log's lock. Raises `OSError`."""
    append_lines(directory, checkpoint.encode() + b"\n")


def append_lines(directory: Path, lines: bytes) -> None:
    """Append complete lines to the checkpoints of `directory` durably. Raises `OSError`."""
    fd = os.open(directory / CHECKPOINTS, CREATE_FLAGS, 0o600)
    try:
        require_regular(fd, directory / CHECKPOINTS)
    except BaseException:
        os.close(fd)  # `os.fdopen` cannot open a pipe for reading and writing
        raise
    with os.fdopen(fd, "r+b") as file:
        size = os.fstat(fd).st_size
        end = _end_of_last_line(fd, size)
        file.truncate(end)
        file.seek(end)
        file.write(lines)
        file.flush()
        os.fdatasync(fd)
    if size == 0:  # perhaps a new file, whose name must be durable, too
        sync_directory(directory)


def read_checkpoints(directory: Path, offset: int = 0) -> bytes:
    """Return the checkpoint file from `offset` on, empty if there is none. Raises `OSError`."""
    path = directory / CHECKPOINTS
    if not path.exists():
        return b""
    if not offset:
        return read_regular(path)
    with open_regular(path) as file:
        file.seek(offset)
        return file.read()


def complete_lines(content: bytes) -> bytes:
    """Drop a torn last line: it is a crash during an append, so that checkpoint was never made."""
    return content[: content.rfind(b"\n") + 1]


def last_checkpoint_line(directory: Path) -> bytes:
    """Return the last complete line of the checkpoints, or nothing. Raises `OSError`."""
    content = read_checkpoints(directory)
    end = content.rfind(b"\n") + 1
    return content[content.rfind(b"\n", 0, max(end - 1, 0)) + 1 : end]


def last_signed_record(directory: Path) -> int | None:
    """Return the record that the last checkpoint signs, if that is sound, and make it durable.

    Its writer may have been killed before it was synced. Raises `OSError` or `AuditError`.
    """
    line = last_checkpoint_line(directory)
    if not line:
        return None
    found = check_line(line[:-1], 1, load_public_keys(directory / SIGNING_PUB))
    if isinstance(found, BadCheckpoint):
        return None  # verification reports it; no record may rest on it
    with open_regular(directory / CHECKPOINTS) as file:
        os.fdatasync(file.fileno())
    return found.seq


def load_public_keys(path: Path) -> dict[str, Ed25519PublicKey]:
    """Return the keys in `path` by their id: one PEM block, or several in sequence.

    Raises `AuditError` if the file has no key, or anything other than keys.
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    keys: dict[str, Ed25519PublicKey] = {}
    try:
        content = read_regular(path, MAX_KEY_BYTES)
        for block in content.replace(_PEM_END, _PEM_END + b"\0").rstrip(b"\0\r\n ").split(b"\0"):
            key = serialization.load_pem_public_key(block.lstrip())
            if not isinstance(key, Ed25519PublicKey):
                raise AuditError(f"`{path}` is not an Ed25519 public key")
            keys[key_id(key)] = key
    except FileNotFoundError as error:
        raise AuditError(f"the public key `{path}` is missing") from error
    except OSError as error:
        raise AuditError(f"cannot read the public key `{path}`: {error.strerror}") from error
    except ValueError as error:
        raise AuditError(f"`{path}` holds no public key") from error
    return keys


def check_line(
    line: bytes, number: int, keys: Mapping[str, Ed25519PublicKey]
) -> Checkpoint | BadCheckpoint:
    """Decode one line of a checkpoint file and verify it against the known keys."""
    try:
        checkpoint = msgspec.json.decode(line, type=Checkpoint)
    except (msgspec.DecodeError, ValueError):
        return BadCheckpoint(number, "is not a checkpoint")
    return check(checkpoint, number, keys)


def check(
    checkpoint: Checkpoint, number: int, keys: Mapping[str, Ed25519PublicKey]
) -> Checkpoint | BadCheckpoint:
    """Return `checkpoint` itself if one of `keys` signed it."""
    from cryptography.exceptions import InvalidSignature

    seq, key = checkpoint.seq, keys.get(checkpoint.key_id)
    if key is None:
        message = f"was signed with another key, `{checkpoint.key_id}`"
        return BadCheckpoint(number, message, seq, unknown_key=True)
    try:
        key.verify(bytes.fromhex(checkpoint.sig or ""), checkpoint.signed_bytes())
    except InvalidSignature:
        return BadCheckpoint(number, "has a wrong signature", seq)
    except ValueError:
        return BadCheckpoint(number, "is not a checkpoint", seq)
    return checkpoint


def key_id(key: Ed25519PublicKey) -> str:
    """Return a short name for a public key."""
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()[:16]


def read_private_key(path: Path) -> Ed25519PrivateKey:
    """Read the key in `path`. Raises `OSError`, or `AuditError` if it is not an Ed25519 key."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    try:
        content = read_regular(path, MAX_KEY_BYTES)
        key = serialization.load_pem_private_key(content, password=None)
    except ValueError as error:
        raise AuditError(f"`{path}` is not a private key in PEM") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise AuditError(f"`{path}` is not an Ed25519 key")
    return key


def public_pem(key: Ed25519PublicKey) -> bytes:
    from cryptography.hazmat.primitives import serialization

    return key.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def new_private_pem() -> bytes:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _end_of_last_line(fd: int, size: int) -> int:
    # A crash during an append leaves part of a line, which proves nothing and is dropped.
    start = max(0, size - _MAX_CHECKPOINT_BYTES)
    return start + os.pread(fd, size - start, start).rfind(b"\n") + 1
