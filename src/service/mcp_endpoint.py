"""`/mcp`: streamable HTTP for MCP clients. The token says who they are, and what they act as.

The claim `agent` of a token is the id of a stored agent: it has the tools of that agent, under its
policies. The claim `policy` is a policy beneath all others. A token without them has what the
server was started with. A session belongs to the token's principal, agent and policy, and nobody
else finds it.

A browser that a foreign page has led here is refused by its `Host` and `Origin` (DNS rebinding).
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final
from urllib.parse import urlsplit

import msgspec
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from caps.agents.mcp_callers import Callers, find_agent
from caps.capabilities.broker.flow import FlowState
from caps.mcp.server.caller import Caller, Context, session_of
from caps.mcp.server.server import CapsServer
from caps.protocol.errors import (
    AgentInvalidError,
    CapsError,
    ConfigurationError,
    PolicyInvalidError,
    ProtocolError,
    ProviderError,
)
from caps.protocol.framing import check_json_text
from caps.service.limits import PrincipalLimits
from caps.service.mcp_sessions import TokenSessions
from caps.service.problems import Problem, problem_response
from caps.service.secured_route import authorization_of
from caps.service.service import Service
from caps.service.signin.roles import Principal, Role
from caps.service.signin.tokens import SignInError, TokenVerifier
from caps.store.database import Store
from caps.store.repositories.agents import StoredAgent

PATH: Final = "/mcp"
_CALLER: Final = "caps.mcp.caller"
_VERSION: Final = "mcp-protocol-version"
LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """What the server was started with. Tokens can only take away from it."""

    callers: Callers
    agent: StoredAgent | None = None
    """The only agent, if there is one; then no token can name another."""
    shown_as: str | None = None
    store: Store | None = None
    """Where the agents of tokens are; None: there are none."""
    principal: str | None = None
    """Who asks, if no token is needed."""
    session: str = ""
    """The session of requests without one, if no token is needed."""
    hosts: tuple[str, ...] | None = LOOPBACK
    """What `Host` may name, with any port; None: anything."""
    origins: tuple[str, ...] = ()
    """What `Origin` may be, besides the hosts."""


async def _received(receive: Receive, max_bytes: int) -> Receive:
    """`receive` with the body in one message, once its items are counted. Raises Problem.

    The SDK decodes a body first and counts nothing.
    """
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return _again(message, receive)
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > max_bytes:
            raise Problem(413, "body_too_large", f"the body is over {max_bytes} bytes")
    try:
        check_json_text(body)
    except ProtocolError as error:
        raise Problem(400, "json_invalid", f"the body cannot be read: {error}") from None
    return _again({"type": "http.request", "body": body, "more_body": False}, receive)


def _again(message: Message, receive: Receive) -> Receive:
    """`receive` that gives `message` first."""
    left = [message]

    async def receive_again() -> Message:
        return left.pop() if left else await receive()

    return receive_again


def caller_of(context: Context) -> Caller:
    """The caller that the endpoint found; for `CapsServer`."""
    request = context.request
    assert request is not None
    caller = request.scope[_CALLER]
    assert isinstance(caller, Caller)
    return caller


class McpEndpoint:
    """An ASGI application."""

    def __init__(
        self,
        server: CapsServer,
        served: Served,
        verifier: TokenVerifier | None,
        principals: PrincipalLimits,
    ) -> None:
        """Without a verifier everybody is `served.principal`."""
        self._served = served
        self._verifier = verifier
        self._principals = principals
        self._tokens = TokenSessions()
        self._max_bytes = server.limits.message_bytes
        self._manager = StreamableHTTPSessionManager(
            server.sdk,
            max_request_body_size=server.limits.message_bytes,
            session_idle_timeout=server.limits.idle_seconds,
            max_sessions=server.limits.http_sessions,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Sessions live in this context; its end ends them, and kills their workers."""
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with AsyncExitStack() as stack:
                await self._sign_in(scope, stack)
                received = await _received(receive, self._max_bytes)
                await self._manager.handle_request(scope, received, send)
        except SignInError as error:
            headers = {"WWW-Authenticate": "Bearer"}
            answer = problem_response(401, error.code, str(error), headers=headers)
            await answer(scope, receive, send)
        except Problem as problem:
            answer = problem_response(
                problem.status_code, problem.code, problem.detail, headers=problem.headers
            )
            await answer(scope, receive, send)

    async def _sign_in(self, scope: Scope, stack: AsyncExitStack) -> None:
        """Put the caller into `scope`. Raises SignInError and Problem."""
        headers = Headers(scope=scope)
        check_source(headers, self._served)
        principal, own_session = await self._principal(scope)
        scope.setdefault("state", {})["principal"] = principal
        if principal.role < Role.RUNNER:
            raise Problem(403, "role_too_low", "this needs the role `runner`")
        stack.enter_context(self._principals.request(principal.name))
        session = _session_of(headers) or own_session
        flow = self._flow(principal, session, is_own=session == own_session)
        caller = await self._caller(principal, session, flow)
        scope[_CALLER] = caller
        scope["user"] = _owner(principal)

    async def _principal(self, scope: Scope) -> tuple[Principal, str]:
        """Who asks, and the session of a request that has none."""
        served = self._served
        if self._verifier is None:
            assert served.principal is not None
            return Principal(name=served.principal, role=Role.RUNNER), served.session
        authorization = authorization_of(scope)
        principal = await self._verifier.principal(authorization)
        return principal, session_of(principal.name, principal.agent, principal.policy)

    def _flow(self, principal: Principal, session: str, *, is_own: bool) -> FlowState | None:
        """What the session was answered: the connection of a handshake holds it, or we do."""

        def opened() -> FlowState:
            return self._served.callers.session_flow(principal.name, session)

        if not is_own:
            return opened()
        if principal.expires_at is None:
            return None  # the one session of everybody: the runtime keeps it
        return self._tokens.hold(session, principal.expires_at, opened)

    async def _caller(self, principal: Principal, session: str, flow: FlowState | None) -> Caller:
        served = self._served
        agent = await self._agent(principal)
        try:
            return await served.callers.caller(
                agent,
                principal=principal.name,
                session=session,
                policy=principal.policy,
                shown_as=served.shown_as,
                flow=flow,
            )
        except (AgentInvalidError, PolicyInvalidError, ProviderError) as error:
            raise Problem(403, "token_unusable", _about(error)) from error

    async def _agent(self, principal: Principal) -> StoredAgent | None:
        served = self._served
        if principal.agent is None:
            return served.agent
        if served.agent is not None and str(served.agent.id) == principal.agent:
            return served.agent
        if served.agent is not None or served.store is None:
            raise _unknown_agent()
        try:
            return await find_agent(served.store, principal.agent)
        except ConfigurationError:
            raise _unknown_agent() from None


@asynccontextmanager
async def service_endpoint(service: Service, *, is_loopback: bool) -> AsyncIterator[McpEndpoint]:
    """The endpoint of `caps serve`, for tokens of any agent. It runs in this context."""
    served = Served(
        callers=Callers(service.runtime),
        store=service.store,
        hosts=LOOPBACK if is_loopback else None,
    )
    server = CapsServer(service.runtime, caller_of, transport="tcp")
    endpoint = McpEndpoint(server, served, service.verifier, service.principals)
    async with endpoint.running():
        yield endpoint


def check_source(headers: Headers, served: Served) -> None:
    """Raise Problem if the request comes by a name, or from a page, that is not ours."""
    host, origin = headers.get("host", ""), headers.get("origin")
    if served.hosts is not None and _without_port(host) not in served.hosts:
        raise Problem(421, "host_refused", "the server is not served under this name")
    if origin is None or origin in served.origins:
        return
    if served.hosts is None or _host_of(origin) not in served.hosts:
        raise Problem(403, "origin_refused", "pages of this origin may not use the server")


def _host_of(origin: str) -> str | None:
    try:
        return _without_port(urlsplit(origin).netloc)
    except ValueError:  # for example an unclosed bracket
        return None


def _without_port(host: str) -> str:
    name, separator, port = host.rpartition(":")
    return name.lower() if separator and port.isdecimal() else host.lower()


def _session_of(headers: Headers) -> str | None:
    """The session of the handshake, which the SDK has made and checks; later versions have none."""
    if headers.get(_VERSION, HANDSHAKE_PROTOCOL_VERSIONS[0]) not in HANDSHAKE_PROTOCOL_VERSIONS:
        return None
    given = headers.get(MCP_SESSION_ID_HEADER)
    return None if given is None else f"mcp-{given[:64]}"


def _owner(principal: Principal) -> AuthenticatedUser:
    """What a session belongs to: another token of the same principal, agent and policy may use it.

    The SDK compares it with that of the request which opened the session.
    """
    policy = msgspec.json.encode(principal.policy, order="deterministic")
    subject = f"{principal.agent} {hashlib.sha256(policy).hexdigest()}"
    return AuthenticatedUser(
        AccessToken(token="", client_id=principal.name, scopes=[], subject=subject)
    )


def _unknown_agent() -> Problem:
    return Problem(403, "agent_unknown", "the agent of the token is not served here")


def _about(error: CapsError) -> str:
    return f"the agent or the policy of the token cannot be used: {error.message}"
