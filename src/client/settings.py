"""Where the service is, who asks, and within which bounds."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from caps.protocol.disk.regular_files import read_regular
from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError
from caps.protocol.text import printable

MAX_TOKEN_BYTES: Final = 8192

TokenSource = Callable[[], str]


class ClientSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of a client, in seconds and bytes."""

    connect_seconds: float = 10.0
    request_seconds: float = 90.0
    """For one attempt, from sending it to the last byte of its answer."""
    stream_silence_seconds: float = 60.0
    """The service sends something every 15 seconds, so a longer silence is a broken connection."""
    max_request_bytes: int = 64 * 1024 * 1024
    """Of a body; the service has a bound of its own."""
    max_answer_bytes: int = 64 * 1024 * 1024
    max_event_bytes: int = 64 * 1024 * 1024
    attempts: int = 4
    """Of a request that can be repeated, and in a row of a stream that breaks."""
    first_pause_seconds: float = 0.2
    max_pause_seconds: float = 10.0
    connections: int = 32


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The origin of the service, and the prefix of its paths."""

    origin: str
    prefix: str


def service_place(given: str | None, *, plain_http: bool) -> Place:
    """The service that an argument or CAPS_SERVER names. Raises ConfigurationError.

    Without TLS everybody on the way reads the token, so plain HTTP is for loopback, or for a caller
    who says that the network is trusted.
    """
    url = given or Variable.SERVER.read()
    if not url:
        raise ConfigurationError(f"there is no service; give its URL, or set {Variable.SERVER.key}")
    shown = printable(url, 200)
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError:
        raise ConfigurationError(f"`{shown}` is not a URL") from None
    if parts.scheme not in ("http", "https") or not host or not url.isascii():
        raise ConfigurationError(f"`{shown}` is not a URL such as `https://caps.example.org`")
    if parts.query or parts.fragment or "@" in parts.netloc:
        raise ConfigurationError("the URL of the service has no user, query or fragment")
    if parts.scheme == "http" and not plain_http and not _is_loopback(host):
        raise ConfigurationError(
            f"`{shown}` would send the token unencrypted; use `https://`, or allow plain HTTP"
        )
    return Place(origin=f"{parts.scheme}://{parts.netloc}", prefix=parts.path.rstrip("/"))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def token_source(token: str | None, token_file: str | Path | None) -> TokenSource:
    """The token that was given, else that of CAPS_TOKEN, else of the file of CAPS_TOKEN_FILE.

    A file is read for each request: tokens are renewed. Raises ConfigurationError.
    """
    if token is not None and token_file is not None:
        raise ConfigurationError("give a token or a file with one, not both")
    file = token_file or (None if token or Variable.TOKEN.read() else Variable.TOKEN_FILE.read())
    if file:
        path = Path(file)
        _read_token(path)  # a wrong name is an error now, not at the first request
        return lambda: _read_token(path)
    found = _checked(token or Variable.TOKEN.read())
    return lambda: found


def _read_token(path: Path) -> str:
    try:
        text = read_regular(path, MAX_TOKEN_BYTES).decode("ascii")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it has no token"
        raise ConfigurationError(f"the token `{path}` cannot be read: {reason.lower()}") from None
    return _checked(text.strip())


def _checked(token: str) -> str:
    """Never shown: whatever is wrong with it, it may be a secret."""
    if not token:
        raise ConfigurationError(
            f"there is no token; set {Variable.TOKEN.key} or {Variable.TOKEN_FILE.key}"
        )
    if len(token) > MAX_TOKEN_BYTES or not token.isascii() or not token.isprintable():
        raise ConfigurationError("the token has characters that no token has, or is too long")
    return token
