"""`caps mcp serve --http`: an MCP server alone, on one socket, until a signal."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import anyio
import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route

from caps.agents.mcp_callers import Callers
from caps.agents.sign_in_settings import SignInSettings
from caps.capabilities.identity import new_id
from caps.capabilities.registry import CapabilityRegistry
from caps.capabilities.runtime.runtime import Runtime
from caps.mcp.server.server import CapsServer
from caps.protocol.errors import ConfigurationError
from caps.security.audit.log.settings import AuditSettings
from caps.security.policies.load import Policies, is_policy_given, listed
from caps.service.limits import PrincipalLimits, RequestLimits
from caps.service.mcp_endpoint import LOOPBACK, PATH, McpEndpoint, Served, caller_of
from caps.service.request_log import RequestLog
from caps.service.serve import (
    ServeSettings,
    SignalledServer,
    address_of,
    is_loopback,
    listening,
    uvicorn_config,
)
from caps.service.service import NO_POLICY
from caps.service.signin.keys import key_source
from caps.service.signin.tokens import TokenVerifier
from caps.store import open_store
from caps.store.repositories.agents import StoredAgent

_GRACE_SECONDS: Final = 5.0


class McpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where and what to serve."""

    host: str = "127.0.0.1"
    port: int = 8090
    tools: str = "auto"
    with_code: bool = True
    agent: StoredAgent | None = None
    shown_as: str | None = None
    principal: str | None = None
    """Who everybody is; None: a token is needed."""
    hosts: tuple[str, ...] = ()
    """Names under which it is reached, besides those of loopback."""
    origins: tuple[str, ...] = ()
    limits: RequestLimits | None = None
    """Of each principal; None: the usual ones, or ten times as many requests without a token."""


def _limits(settings: McpSettings) -> RequestLimits:
    if settings.limits is not None:
        return settings.limits
    # One user of this host, whose clients may all ask together.
    alone = RequestLimits(requests_per_second=500.0, burst=2000)
    return RequestLimits() if settings.principal is None else alone


async def serve_mcp(
    settings: McpSettings,
    *,
    policy: Policies | None,
    registry: CapabilityRegistry,
    audit: AuditSettings,
    on_ready: Callable[[str, bool], None],
) -> None:
    """Serve until SIGTERM or SIGINT. `on_ready` gets the address, and whether no secret is set.

    Raises ConfigurationError, and the errors of `Runtime` and of the store.
    """
    verifier, is_configured = None, False
    if settings.principal is None:
        sign_in = SignInSettings.from_environment()
        keys, is_configured = key_source(sign_in)
        verifier = TokenVerifier(keys, sign_in)
    if not is_configured and not is_loopback(settings.host):
        raise ConfigurationError(
            f"`{settings.host}` is not loopback, and there is no secret: set "
            "CAPS_TOKEN_SECRET_FILE or CAPS_TOKEN_JWKS, or serve on 127.0.0.1"
        )
    place = ServeSettings(host=settings.host, port=settings.port, drain_seconds=_GRACE_SECONDS)
    with listening(place) as listener:
        async with _open_app(settings, verifier, policy, registry, audit) as app:
            server = SignalledServer(uvicorn_config(app, place))
            async with anyio.create_task_group() as tasks:
                await tasks.start(_stop_on_signal, server)
                on_ready(f"{address_of(listener)}{PATH}", not is_configured)
                await server.serve([listener])
                tasks.cancel_scope.cancel()


@asynccontextmanager
async def _open_app(
    settings: McpSettings,
    verifier: TokenVerifier | None,
    policy: Policies | None,
    registry: CapabilityRegistry,
    audit: AuditSettings,
) -> AsyncIterator[Starlette]:
    given = policy if is_policy_given(listed(policy)) else NO_POLICY
    async with AsyncExitStack() as stack:
        store = None
        if verifier is not None and settings.agent is None:  # then tokens may name agents
            store = await stack.enter_async_context(open_store())
        runtime = Runtime(given, registry=registry, audit=audit)
        await stack.enter_async_context(runtime)
        served = Served(
            callers=Callers(runtime),
            agent=settings.agent,
            shown_as=settings.shown_as,
            store=store,
            principal=settings.principal,
            session=f"mcp-{new_id()}",
            hosts=(*LOOPBACK, *settings.hosts),
            origins=settings.origins,
        )
        server = CapsServer(
            runtime,
            caller_of,
            transport="tcp",
            tools=settings.tools,
            with_code=settings.with_code,
        )
        endpoint = McpEndpoint(server, served, verifier, PrincipalLimits(_limits(settings)))
        await stack.enter_async_context(endpoint.running())
        app = Starlette(routes=[Route(PATH, endpoint=endpoint)])
        app.add_middleware(RequestLog)
        yield app


async def _stop_on_signal(
    server: uvicorn.Server, *, task_status: anyio.abc.TaskStatus[None]
) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for _ in signals:
            server.force_exit = server.should_exit
            server.should_exit = True
