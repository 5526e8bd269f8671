"""The edge to the HTTP library: its errors stop here, and so do encodings that nobody asked for.

`httpcore2` and nothing above it: no cookies, redirects, proxies, `.netrc` or decompression. So a
token goes to the service and nowhere else.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpcore2

from caps.client.errors import AnswerInvalidError, ServiceTimeoutError, ServiceUnreachableError
from caps.client.message import Request
from caps.client.settings import ClientSettings

# The service closes an idle connection after five seconds.
KEEP_ALIVE_SECONDS: Final = 4.0
_NOT_SENT: Final = (httpcore2.ConnectError, httpcore2.ConnectTimeout, httpcore2.PoolTimeout)
_UNREACHABLE: Final = "the service cannot be reached"


def pool_options(settings: ClientSettings, ssl_context: ssl.SSLContext | None) -> dict[str, Any]:
    """The arguments of both pools."""
    return {
        "ssl_context": ssl_context or ssl.create_default_context(),
        "max_connections": settings.connections,
        "max_keepalive_connections": settings.connections,
        "keepalive_expiry": KEEP_ALIVE_SECONDS,
    }


def timeouts(
    request: Request[Any], settings: ClientSettings, *, is_stream: bool
) -> tuple[dict[str, Any], float]:
    """The extensions of a request, and the moment at which its answer must be complete."""
    seconds = max(settings.request_seconds, request.seconds or 0.0)
    silence = settings.stream_silence_seconds if is_stream else seconds
    limits = {
        "connect": settings.connect_seconds,
        "pool": settings.connect_seconds,
        "write": seconds,
        "read": silence,
    }
    return {"timeout": limits}, time.monotonic() + seconds


@contextmanager
def translated() -> Iterator[None]:
    """Raises ServiceUnreachableError, ServiceTimeoutError and AnswerInvalidError."""
    try:
        yield
    except httpcore2.TimeoutException as error:
        sent = not isinstance(error, _NOT_SENT)
        what = "the service did not answer in time" if sent else f"{_UNREACHABLE}: timed out"
        raise ServiceTimeoutError(what, sent=sent) from error
    except httpcore2.NetworkError as error:
        sent = not isinstance(error, _NOT_SENT)
        what = "the connection to the service broke" if sent else _UNREACHABLE
        raise ServiceUnreachableError(f"{what}{_reason(error)}", sent=sent) from error
    except httpcore2.RemoteProtocolError as error:
        # Also what a connection is that ends within an answer, or before one.
        raise ServiceUnreachableError(
            "the connection broke, or what came is not HTTP", sent=True
        ) from error
    except (httpcore2.ProtocolError, httpcore2.UnsupportedProtocol) as error:
        raise AnswerInvalidError(f"the request cannot be sent{_reason(error)}") from error


def _reason(error: Exception) -> str:
    """In one line; errors of the system and of TLS say what is wrong."""
    text = str(error).splitlines()
    return f": {text[0][:200].lower()}" if text and text[0] else ""


def check_encoding(headers: dict[str, str]) -> None:
    """Refuse a compressed body: it may be small, and large once it is decompressed."""
    if headers.get("content-encoding", "identity") != "identity":
        raise AnswerInvalidError("the answer is compressed, which was not asked for")
