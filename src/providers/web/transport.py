"""One request over one connection to an address that was checked. Imported on the first fetch.

`httpcore2`, the transport of `httpx2`, and nothing above it: it has no cookies, redirects, proxies,
credentials files or environment to switch off, and leaves the body as it came. Each fetch has a
connection of its own: the next one may be under another scope, which allows other addresses.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpcore2

from caps.protocol.errors import ProviderError
from caps.providers.web.url import Url


class PinnedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to one of `addresses`, whatever the name of the host is. Nothing is looked up."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._addresses = addresses
        self._backend = httpcore2.AnyIOBackend()
        self._streams: list[httpcore2.AsyncNetworkStream] = []

    async def connect_tcp(
        self,
        host: str,  # noqa: ARG002 - of the interface; its addresses were looked up before
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - of the interface
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        failure: Exception = httpcore2.ConnectError("no address")
        for address in self._addresses:
            try:
                stream = await self._backend.connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except httpcore2.ConnectError as error:
                failure = error
            else:
                self._streams.append(stream)
                return stream
        raise failure

    async def aclose(self) -> None:
        """Close what was connected: a call that ends while TLS begins leaves its connection."""
        for stream in self._streams:
            await stream.aclose()


@asynccontextmanager
async def exchange(
    url: Url,
    addresses: Sequence[str],
    method: str,
    headers: Sequence[tuple[str, str]],
    tls: ssl.SSLContext,
) -> AsyncIterator[httpcore2.Response]:
    """Send the request and yield the response once its headers are there.

    Raises ProviderError, which quotes nothing but the host: other texts could hold a secret.
    """
    backend = PinnedBackend(addresses)
    connection = httpcore2.AsyncHTTPConnection(
        origin=httpcore2.Origin(url.scheme.encode(), url.host.encode(), url.port),
        ssl_context=tls,
        network_backend=backend,
    )
    target = httpcore2.URL(
        scheme=url.scheme.encode(),
        host=url.host.encode(),
        port=url.port,
        target=url.target.encode("ascii"),
    )
    encoded = [(name.encode("ascii"), value.encode("ascii")) for name, value in headers]
    try:
        request = httpcore2.Request(method.encode(), target, headers=encoded)
        yield await connection.handle_async_request(request)
    except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException) as error:
        raise _failure(url.host, error) from None
    finally:
        with anyio.CancelScope(shield=True):
            await connection.aclose()
            await backend.aclose()


def _failure(host: str, error: Exception) -> ProviderError:
    causes, cause = [error], error.__cause__ or error.__context__
    while isinstance(cause, Exception) and len(causes) < 8:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    if any(isinstance(each, ssl.SSLCertVerificationError) for each in causes):
        return ProviderError(f"the certificate of `{host}` is not trusted")
    if any(isinstance(each, ssl.SSLError) for each in causes):
        return ProviderError(f"no secure connection to `{host}` can be made")
    if isinstance(error, httpcore2.ConnectError):
        return ProviderError(f"no connection to `{host}` can be made")
    if isinstance(error, httpcore2.RemoteProtocolError):
        return ProviderError(f"`{host}` does not answer in valid HTTP, or ended too early")
    return ProviderError(f"the connection to `{host}` broke")
