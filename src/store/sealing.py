"""Secrets at rest: AES-256-GCM under a key that is not in the database.

Owner and name are authenticated with the value, so that a row that was copied over another one does
not open. The key is a file: `CAPS_STORE_KEY_FILE`, else `store.key` in the state directory, which
is created on first use.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path
from typing import Final

import msgspec

from caps.protocol.disk.key_file import MAX_KEY_BYTES, read_or_create
from caps.protocol.disk.regular_files import read_regular
from caps.protocol.disk.store_files import store_key_file
from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError
from caps.store.errors import StoreError

_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_CONTEXT: Final = "caps.secret.1"


class SealedSecret(msgspec.Struct, frozen=True):
    """A value as it is stored."""

    ciphertext: bytes
    nonce: bytes
    key_id: str


class SecretBox:
    """Seals and opens values under one key."""

    def __init__(self, key: bytes) -> None:
        # Late: it takes a while to import, and most uses of the store have no secret.
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        if len(key) != _KEY_BYTES:
            raise ConfigurationError(f"the key of the store must have {_KEY_BYTES} bytes")
        self._cipher = AESGCM(key)
        self.key_id = hashlib.sha256(b"caps.store.key\0" + key).hexdigest()[:16]

    def __repr__(self) -> str:
        return f"SecretBox(key_id={self.key_id!r})"

    def seal(self, owner: str, name: str, value: bytes) -> SealedSecret:
        """`value`, sealed for this owner and name."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = self._cipher.encrypt(nonce, value, _bound_to(owner, name))
        return SealedSecret(sealed, nonce, self.key_id)

    def open(self, owner: str, name: str, sealed: SealedSecret) -> bytes:
        """The value. Raises StoreError, without any of it, if it was sealed otherwise."""
        from cryptography.exceptions import InvalidTag

        if sealed.key_id != self.key_id:
            raise StoreError(
                f"a secret was sealed with the key `{sealed.key_id}`, and the key of this store is "
                f"`{self.key_id}`; set {Variable.STORE_KEY_FILE.key} to the other one"
            )
        try:
            return self._cipher.decrypt(sealed.nonce, sealed.ciphertext, _bound_to(owner, name))
        except InvalidTag:
            raise StoreError("a secret of the store was changed outside of caps") from None


def load_secret_box() -> SecretBox:
    """The box with the key of this host. Raises ConfigurationError if its file cannot be used."""
    path, is_named = store_key_file(), bool(Variable.STORE_KEY_FILE.read())
    try:
        # A name that was misspelt must not make a new key.
        content = read_regular(path, MAX_KEY_BYTES) if is_named else _created(path)
        if path.stat().st_mode & 0o007:
            raise ConfigurationError(
                f"the key of the store `{path}` is open to every user; run `chmod 600` on it"
            )
        return SecretBox(bytes.fromhex(content.decode("ascii")))
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise ConfigurationError(
            f"the key of the store `{path}` cannot be read: {reason}"
        ) from error
    except ValueError:
        raise ConfigurationError(
            f"the key of the store `{path}` is not {_KEY_BYTES} bytes in hexadecimal"
        ) from None


def _created(path: Path) -> bytes:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return read_or_create(path, lambda: os.urandom(_KEY_BYTES).hex().encode() + b"\n")


def _bound_to(owner: str, name: str) -> bytes:
    return msgspec.json.encode([_CONTEXT, owner, name])
