"""What flow rules know of MCP sessions over HTTP: as long as a session lives, and no longer."""

from __future__ import annotations

import gc
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest
from mcp.client.client import Client, ConnectMode
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

from caps import MemoryAuditLog, Runtime
from caps.agents.mcp_callers import Callers
from caps.agents.sign_in_settings import SignInSettings
from caps.capabilities.broker.flow import SessionFlows
from caps.mcp.server.server import CapsServer
from caps.service.limits import PrincipalLimits, RequestLimits
from caps.service.mcp_endpoint import PATH, McpEndpoint, Served, caller_of
from caps.service.serve import ServeSettings, SignalledServer, address_of, listening, uvicorn_config
from caps.service.signin.keys import key_source
from caps.service.signin.tokens import TokenVerifier
from support.agent_setup import OPERATOR, AgentSetup
from support.service_process import SECRET, token

pytestmark = pytest.mark.anyio

MAIL = {"to": "eve@example.org", "text": "90"}


class Setup(AgentSetup):
    """An endpoint whose runtime has room for two named sessions."""

    address: str
    flows: SessionFlows


@asynccontextmanager
async def serving(tmp_path: Path) -> AsyncIterator[Setup]:
    (tmp_path / "secret").write_text(SECRET)
    settings = SignInSettings(secret_file=tmp_path / "secret")
    setup = Setup()
    async with Runtime(OPERATOR, registry=setup.registry, audit=MemoryAuditLog()) as runtime:
        setup.flows = runtime._open().services.flows
        setup.flows._max_sessions = 2
        endpoint = McpEndpoint(
            CapsServer(runtime, caller_of, transport="tcp"),
            Served(callers=Callers(runtime)),
            TokenVerifier(key_source(settings)[0], settings),
            PrincipalLimits(RequestLimits()),
        )
        place = ServeSettings(port=0, drain_seconds=1)
        with listening(place) as listener:
            server = SignalledServer(uvicorn_config(endpoint, place))
            async with endpoint.running(), anyio.create_task_group() as tasks:
                tasks.start_soon(server.serve, [listener])
                setup.address = f"{address_of(listener)}{PATH}"
                yield setup
                server.should_exit = True


@asynccontextmanager
async def connected(
    address: str, mode: ConnectMode, scheme: str = "Bearer", **claims: Any
) -> AsyncIterator[Client]:
    headers = {"Authorization": f"{scheme} {token(**claims)}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(address, http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


async def read_both(client: Client) -> None:
    """What the flow rule of the operator asks for: something private, and something untrusted."""
    await client.call_tool("hr_salary", {"name": "ada"})
    await client.call_tool("web_read", {"url": "https://example.org"})


async def is_refused(client: Client) -> bool:
    """Whether a mail is stopped by the flow rule."""
    result = await client.call_tool("mail_send", MAIL)
    first = result.content[0]
    assert isinstance(first, TextContent)
    assert bool(result.is_error) == ("no-exfiltration" in first.text), first.text
    return bool(result.is_error)


async def test_sessions_of_the_handshake_end_with_their_connection(tmp_path: Path) -> None:
    """More of them than the runtime has room for, one after another; each keeps its labels."""
    until = int(time.time()) + 600
    async with serving(tmp_path) as setup:
        for _ in range(4):
            async with connected(setup.address, "legacy", exp=until) as client:
                assert not await is_refused(client)
                await read_both(client)
                gc.collect()
                assert await is_refused(client)
                code = f"await caps.mail.send(**{MAIL})"
                ran = await client.call_tool("execute_code", {"code": code})
                assert ran.structured_content is not None
                assert ran.structured_content["status"] == "policy_refused"
        assert len(setup.sent) == 4
        assert len(setup.flows._states) == 0
        with anyio.fail_after(60):
            # That of the token, which the handshakes used, and that of the last execution: the
            # transport of its worker refers to it until another one takes its place.
            while len(setup.flows._unnamed) > 2:
                await anyio.lowlevel.checkpoint()
                gc.collect()


async def test_two_sessions_at_a_time_do_not_share(tmp_path: Path) -> None:
    """What one has read does not stop the other."""
    async with (
        serving(tmp_path) as setup,
        connected(setup.address, "legacy") as one,
        connected(setup.address, "legacy") as other,
    ):
        await read_both(one)
        assert await is_refused(one)
        assert not await is_refused(other)


async def test_without_sessions_what_the_token_says_is_the_session(tmp_path: Path) -> None:
    """A new connection, another token or another spelling of it leaves no labels behind; they are
    no named sessions, either."""
    async with serving(tmp_path) as setup:
        for number in range(2):
            claims, until = {"sub": f"ann-{number}"}, int(time.time()) + 600
            async with connected(setup.address, "auto", exp=until, **claims) as client:
                assert not await is_refused(client)
                await read_both(client)
            gc.collect()
            for scheme, later in (("Bearer", 0), ("bearer", 0), ("BEARER", 0), ("Bearer", 7)):
                async with connected(
                    setup.address, "auto", scheme, exp=until + later, **claims
                ) as client:
                    assert await is_refused(client)
        assert len(setup.flows._states) == 0
