"""The keys that verify tokens, and with each the only algorithm that it may be used with.

An algorithm is never chosen by a token: a shared secret verifies HS256, an RSA key RS256, and an
Ed25519 key EdDSA. So no public key is ever taken for a secret, and `none` is no algorithm.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final, Protocol

import anyio.to_thread
import jwt
import msgspec

from caps.agents.sign_in_settings import SignInSettings, is_url, read_secret
from caps.protocol.disk.key_file import MAX_KEY_BYTES, read_or_create
from caps.protocol.disk.regular_files import read_regular
from caps.protocol.disk.state_directory import token_secret_file
from caps.protocol.errors import ConfigurationError

_REFRESH_SECONDS: Final = 300
_COOLDOWN_SECONDS: Final = 30
_FETCH_SECONDS: Final = 5
_ALGORITHMS: Final = {"RSA": "RS256", "OKP": "EdDSA"}


class NoKeyError(Exception):
    """No key for this token, or the keys cannot be read now; the text is for the log."""


class VerifyingKey(msgspec.Struct, frozen=True):
    """A key and its algorithm."""

    key: Any
    algorithm: str


class KeySource(Protocol):
    """Where the verifying keys are."""

    async def find(self, key_id: str | None) -> VerifyingKey:
        """The key that a token names. Raises NoKeyError."""


class SharedSecret:
    """One secret, for HS256."""

    def __init__(self, secret: bytes) -> None:
        self._key = VerifyingKey(secret, "HS256")

    async def find(self, key_id: str | None) -> VerifyingKey:  # noqa: ARG002 - there is only one
        return self._key


class JwksFile:
    """A file with a JSON Web Key Set; it is read again when it has changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read: tuple[tuple[int, ...], jwt.PyJWKSet] | None = None

    async def find(self, key_id: str | None) -> VerifyingKey:
        return await anyio.to_thread.run_sync(self._find, key_id)

    def _find(self, key_id: str | None) -> VerifyingKey:
        try:
            found = self._path.stat()
            stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
            if self._read is None or self._read[0] != stamp:
                text = read_regular(self._path, MAX_KEY_BYTES).decode()
                self._read = (stamp, jwt.PyJWKSet.from_json(text))
        except (OSError, ValueError, jwt.PyJWTError) as error:
            raise NoKeyError(f"the key set `{self._path}` cannot be read: {error}") from error
        return _of_set(self._read[1], key_id)


class JwksUrl:
    """A key set behind a URL. It is fetched again after five minutes, and for an unknown key."""

    def __init__(self, url: str) -> None:
        self._client = jwt.PyJWKClient(
            url,
            lifespan=_REFRESH_SECONDS,
            timeout=_FETCH_SECONDS,
            cooldown_duration=_COOLDOWN_SECONDS,
        )

    async def find(self, key_id: str | None) -> VerifyingKey:
        if key_id is None:
            raise NoKeyError("the token names no key")
        try:
            found = await anyio.to_thread.run_sync(self._client.get_signing_key, key_id)
        except (jwt.PyJWTError, ValueError) as error:
            raise NoKeyError(str(error)) from error
        return _usable(found)


def _of_set(keys: jwt.PyJWKSet, key_id: str | None) -> VerifyingKey:
    if key_id is None and len(keys.keys) == 1:
        return _usable(keys.keys[0])
    for each in keys.keys:
        if key_id is not None and each.key_id == key_id:
            return _usable(each)
    raise NoKeyError("the token names no key of the set")


def _usable(key: jwt.PyJWK) -> VerifyingKey:
    algorithm = _ALGORITHMS.get(str(key.key_type))
    if algorithm is None or key.algorithm_name != algorithm:
        raise NoKeyError("the key is neither one for RS256 nor one for EdDSA")
    if key.public_key_use not in (None, "sig"):
        raise NoKeyError("the key is not one for signatures")
    return VerifyingKey(key.key, algorithm)


def development_secret() -> bytes:
    """The secret of this user, which is made on first use. Raises ConfigurationError."""
    path = token_secret_file()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        read_or_create(path, lambda: os.urandom(32).hex().encode() + b"\n")
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise ConfigurationError(f"the secret `{path}` cannot be made: {reason}") from error
    return read_secret(path)


def key_source(given: SignInSettings | None = None) -> tuple[KeySource, bool]:
    """The keys that the settings name, and whether the operator named any.

    Without one it is the secret for development. Raises ConfigurationError.
    """
    settings = given or SignInSettings.from_environment()
    if settings.secret_file is not None:
        return SharedSecret(read_secret(settings.secret_file)), True
    if settings.jwks is None:
        return SharedSecret(development_secret()), False
    if is_url(settings.jwks):
        return JwksUrl(settings.jwks), True
    return JwksFile(Path(settings.jwks)), True
