"""How the service is to verify tokens: which key, which issuer, which audience."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from caps.protocol.disk.key_file import MAX_KEY_BYTES
from caps.protocol.disk.regular_files import read_regular
from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError

MIN_SECRET_BYTES: Final = 32
DEFAULT_ISSUER: Final = "caps"
DEFAULT_AUDIENCE: Final = "caps"
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})


class SignInSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Without a secret and a key set, the service uses a secret for development, on loopback."""

    secret_file: Path | None = None
    jwks: str | None = None
    """A file, or a URL."""
    issuer: str = DEFAULT_ISSUER
    audience: str = DEFAULT_AUDIENCE

    @classmethod
    def from_environment(cls) -> SignInSettings:
        """The settings of this process, whose files are there. Raises ConfigurationError."""
        secret_file, jwks = Variable.TOKEN_SECRET_FILE.read(), Variable.TOKEN_JWKS.read()
        if secret_file and jwks:
            raise ConfigurationError(
                f"{Variable.TOKEN_SECRET_FILE.key} and {Variable.TOKEN_JWKS.key} exclude each "
                "other; unset one"
            )
        if secret_file:
            read_secret(Path(secret_file))
        if jwks:
            _check_jwks(jwks)
        return cls(
            secret_file=Path(secret_file) if secret_file else None,
            jwks=jwks or None,
            issuer=Variable.TOKEN_ISSUER.read() or DEFAULT_ISSUER,
            audience=Variable.TOKEN_AUDIENCE.read() or DEFAULT_AUDIENCE,
        )


def read_secret(path: Path) -> bytes:
    """The secret in a file, without the newline at its end. Raises ConfigurationError."""
    try:
        secret = read_regular(path, MAX_KEY_BYTES).rstrip(b"\r\n")
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise ConfigurationError(f"the secret `{path}` cannot be read: {reason}") from error
    if len(secret) < MIN_SECRET_BYTES:
        raise ConfigurationError(
            f"the secret `{path}` is too short; use at least {MIN_SECRET_BYTES} random bytes"
        )
    return secret


def is_url(jwks: str) -> bool:
    return "://" in jwks


def _check_jwks(place: str) -> None:
    if not is_url(place):
        if not Path(place).is_file():
            raise ConfigurationError(f"{Variable.TOKEN_JWKS.key}: there is no file `{place}`")
        return
    url = urlsplit(place)
    if url.scheme != "https" and not (url.scheme == "http" and url.hostname in _LOOPBACK):
        raise ConfigurationError(
            f"{Variable.TOKEN_JWKS.key} must be a file or an `https://` URL: keys that anybody on "
            "the way can replace verify nothing"
        )
