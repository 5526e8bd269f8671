"""Serving: uvicorn on one socket, until a signal. The service drains, and then everything closes.

Without a secret of the operator's tokens are verified with one that this user's programs can read,
so only loopback is served then.
"""

from __future__ import annotations

import ipaddress
import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import anyio
import msgspec
import uvicorn
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from caps.agents.sign_in_settings import SignInSettings
from caps.capabilities.registry import CapabilityRegistry
from caps.protocol.errors import ConfigurationError
from caps.security.audit.log.settings import AuditSettings
from caps.security.policies.load import Policies
from caps.service.app import create_app
from caps.service.limits import RequestLimits
from caps.service.service import Service, open_service
from caps.service.signin.keys import key_source
from caps.service.signin.tokens import TokenVerifier

DRAIN_SECONDS: Final = 30.0

logger = logging.getLogger(__name__)


class ServeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where to serve, and within which limits."""

    host: str = "127.0.0.1"
    port: int = 8080
    drain_seconds: float = DRAIN_SECONDS
    limits: RequestLimits = RequestLimits()


class SignalledServer(uvicorn.Server):
    """Signals are ours: after uvicorn has ended, executions still have to."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(
    settings: ServeSettings,
    *,
    policy: Policies | None,
    registry: CapabilityRegistry,
    audit: AuditSettings,
    on_ready: Callable[[str, bool], None],
) -> None:
    """Serve until SIGTERM or SIGINT; a second one ends it at once.

    `on_ready` gets the address, and whether the secret is the one for development. Raises
    ConfigurationError, and the errors of `open_service`.
    """
    sign_in = SignInSettings.from_environment()
    keys, is_configured = key_source(sign_in)
    if not is_configured and not is_loopback(settings.host):
        raise ConfigurationError(
            f"`{settings.host}` is not loopback, and there is no secret: set "
            "CAPS_TOKEN_SECRET_FILE or CAPS_TOKEN_JWKS, or serve on 127.0.0.1"
        )
    with listening(settings) as listener:
        async with (
            open_service(
                policy=policy,
                registry=registry,
                audit=audit,
                verifier=TokenVerifier(keys, sign_in),
                limits=settings.limits,
                drain_seconds=settings.drain_seconds,
            ) as service,
            _mcp_routes(service, settings.host) as mcp_routes,
        ):
            app = create_app(service)
            app.router.routes.extend(mcp_routes)
            server = SignalledServer(uvicorn_config(app, settings))
            async with anyio.create_task_group() as tasks:
                await tasks.start(_stop_on_signal, service, server)
                on_ready(address_of(listener), not is_configured)
                await server.serve([listener])
                tasks.cancel_scope.cancel()


@asynccontextmanager
async def _mcp_routes(service: Service, host: str) -> AsyncIterator[list[BaseRoute]]:
    """`/mcp`, if the extra `mcp` is installed."""
    try:
        from caps.service.mcp_endpoint import PATH, service_endpoint
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        logger.info("there is no /mcp: it needs the extra `mcp`")
        yield []
        return
    async with service_endpoint(service, is_loopback=is_loopback(host)) as endpoint:
        yield [Route(PATH, endpoint=endpoint)]


def uvicorn_config(app: ASGIApp, settings: ServeSettings) -> uvicorn.Config:
    """How every server of the service runs."""
    return uvicorn.Config(
        app,
        lifespan="off",
        access_log=False,  # ours has no paths and no queries
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=max(1, int(settings.drain_seconds)),
        h11_max_incomplete_event_size=64 * 1024,
    )


async def _stop_on_signal(
    service: Service, server: uvicorn.Server, *, task_status: anyio.abc.TaskStatus[None]
) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for _ in signals:
            if service.draining:
                service.runner.stop()
                server.force_exit = True
            service.draining = True
            server.should_exit = True


@contextmanager
def listening(settings: ServeSettings) -> Iterator[socket.socket]:
    """The socket, bound before anything is opened, so that a taken port is told at once."""
    try:
        family = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise ConfigurationError(
            f"cannot serve on `{settings.host}` port {settings.port}: {reason}"
        ) from error
    with listener:
        # Connections inherit it. asyncio sets it, but not for sockets made in this way. Without it,
        # an answer waits 40 ms for the peer's delayed acknowledgement of its headers.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield listener


def address_of(listener: socket.socket) -> str:
    """The URL."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether nobody but this host can reach it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
