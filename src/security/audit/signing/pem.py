"""(8) Ed25519 keys as PEM text (RFC 8410), of which only the 32 bytes of the key vary.

Loading what the library has for keys of all kinds and their formats takes 4 ms, each time that a
command opens the log. So text of exactly this form is read and written here; what else may be a key
is left to the library, which tests compare this with.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

_KEY_BYTES: Final = 32
# The label of the text, and the DER that says what kind of key follows.
_PRIVATE: Final = (b"PRIVATE KEY", bytes.fromhex("302e020100300506032b657004220420"))
_PUBLIC: Final = (b"PUBLIC KEY", bytes.fromhex("302a300506032b6570032100"))


def private_pem(key: Ed25519PrivateKey) -> bytes:
    return _written(_PRIVATE, key.private_bytes_raw())


def public_pem(key: Ed25519PublicKey) -> bytes:
    return _written(_PUBLIC, key.public_bytes_raw())


def read_private(text: bytes) -> object:
    """The private key of any kind that `text` holds. Raises ValueError if there is none."""
    raw = _read(_PRIVATE, text)
    if raw is None:
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        return load_pem_private_key(text, password=None)
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(raw)


def read_public(text: bytes) -> object:
    """The public key of any kind that `text` holds. Raises ValueError if there is none."""
    raw = _read(_PUBLIC, text)
    if raw is None:
        from cryptography.hazmat.primitives.serialization import load_pem_public_key

        return load_pem_public_key(text)
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    return Ed25519PublicKey.from_public_bytes(raw)


def _written(form: tuple[bytes, bytes], raw: bytes) -> bytes:
    label, prefix = form
    content = base64.b64encode(prefix + raw)
    return b"-----BEGIN %b-----\n%b\n-----END %b-----\n" % (label, content, label)


def _read(form: tuple[bytes, bytes], text: bytes) -> bytes | None:
    """The bytes of the key; None if the text differs from what would be written for it."""
    lines = text.splitlines()
    try:
        raw = base64.b64decode(lines[1])[-_KEY_BYTES:] if len(lines) == 3 else b""
    except binascii.Error:
        return None
    is_ours = len(raw) == _KEY_BYTES and _written(form, raw).rstrip(b"\n") == text.rstrip(b"\n")
    return raw if is_ours else None
