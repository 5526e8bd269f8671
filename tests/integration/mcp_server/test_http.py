"""The server over HTTP: who may use it, as which agent, and from which pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.client import Client, ConnectMode
from mcp.client.streamable_http import streamable_http_client

from support.service_process import POLICY, ServiceProcess, running_service, token

OWN = {"execute_code", "search_capabilities"}
MATH = {"math_add", "math_subtract", "math_multiply", "math_divide"}
MODES: tuple[ConnectMode, ...] = ("legacy", "auto")
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
HEADERS = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    """`caps serve`, whose `/mcp` is the same as that of `caps mcp serve --http`."""
    state = tmp_path_factory.mktemp("mcp-http")
    with running_service(state, f"sqlite:///{state}/caps.db") as made:
        yield made


@pytest.fixture(scope="module")
def agent(service: ServiceProcess) -> str:
    """An agent with one tool."""
    with service.client() as client:
        body = {"name": "adder", "capabilities": {"test_math": {"tools": ["add"]}}}
        return str(client.post("/v1/agents", json=body).json()["id"])


@asynccontextmanager
async def connected(
    service: ServiceProcess, mode: ConnectMode = "auto", **claims: Any
) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token(**claims)}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(f"{service.address}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


async def names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


@pytest.mark.parametrize("mode", MODES)
def test_the_token_selects_agent_and_policy(
    mode: ConnectMode, service: ServiceProcess, agent: str
) -> None:
    """Without a claim the operator's policy counts, and each claim takes away from it."""
    assert POLICY["allow"] == ["math.*", "time.now"]
    narrow = {"version": 1, "id": "narrow", "allow": ["time.now"]}

    async def main() -> None:
        async with connected(service, mode) as client:
            assert await names(client) == MATH | {"time_now"} | OWN
            result = await client.call_tool("execute_code", {"code": "6 * 7"})
            assert result.structured_content is not None
            assert result.structured_content["value"] == 42
        async with connected(service, mode, agent=agent) as client:
            assert await names(client) == {"add"} | OWN
            result = await client.call_tool("add", {"a": 1, "b": 2})
            assert result.structured_content == {"result": 3}
            assert (await client.call_tool("time_now", {})).is_error
        async with connected(service, mode, policy=narrow) as client:
            assert await names(client) == {"time_now"} | OWN
        async with connected(service, mode, agent=agent, policy=narrow) as client:
            assert await names(client) == OWN

    anyio.run(main)


def refused(service: ServiceProcess, headers: dict[str, str], **claims: Any) -> tuple[int, str]:
    given = {**HEADERS, "Authorization": f"Bearer {token(**claims)}", **headers}
    given = {name: value for name, value in given.items() if value}
    answer = httpx2.post(f"{service.address}/mcp", json=PING, headers=given, timeout=60)
    return answer.status_code, answer.json()["code"]


def test_requests_without_a_right_are_refused(service: ServiceProcess) -> None:
    """Before anything of MCP is read."""
    unknown = "01a1edbf-369f-7138-9b6a-604014ba6342"
    assert refused(service, {"Authorization": ""}) == (401, "token_missing")
    assert refused(service, {"Authorization": "Bearer x"}) == (401, "token_invalid")
    assert refused(service, {}, role="viewer") == (403, "role_too_low")
    assert refused(service, {}, agent=unknown) == (403, "agent_unknown")
    assert refused(service, {}, agent="adder") == (401, "token_invalid")
    assert refused(service, {}, policy={"allow": 3}) == (403, "token_unusable")
    assert refused(service, {}, policy="all") == (401, "token_invalid")
    assert refused(service, {"Host": "evil.example"}) == (421, "host_refused")
    assert refused(service, {"Origin": "http://evil.example"}) == (403, "origin_refused")
    assert refused(service, {"Origin": "null"}) == (403, "origin_refused")


def test_a_confined_token_is_good_for_mcp_alone(service: ServiceProcess, agent: str) -> None:
    """Another route would not know its bounds."""
    with service.client(agent=agent) as client:
        answer = client.post("/v1/calls", json={"function": "time.now"})
        assert (answer.status_code, answer.json()["code"]) == (403, "token_confined")
    with service.client(policy={"version": 1}) as client:
        assert client.get("/v1/capabilities").status_code == 403


def test_a_session_belongs_to_whoever_opened_it(service: ServiceProcess, agent: str) -> None:
    """Another principal, or the same one as an agent, does not find it."""
    parameters = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "tests", "version": "1"},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters}
    with service.client(sub="ada") as client:
        opened = client.post("/mcp", json=body, headers=HEADERS)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        assert client.post("/mcp", json=PING, headers=HEADERS | session).status_code == 200
    for claims in ({"sub": "eve"}, {"sub": "ada", "agent": agent}):
        with service.client(**claims) as client:
            assert client.post("/mcp", json=PING, headers=HEADERS | session).status_code == 404


def test_bad_bodies_are_refused(service: ServiceProcess) -> None:
    """Too long, too deep, or not JSON."""
    with service.client() as client:
        headers = HEADERS | {"Content-Type": "application/json"}
        for content in (b"{", b"[" * 100_000, b'{"a":' * 5000 + b"1" + b"}" * 5000):
            for version in ("2025-11-25", "2026-07-28"):
                named = headers | {"MCP-Protocol-Version": version}
                assert client.post("/mcp", content=content, headers=named).status_code == 400
        long = b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * (9 << 20) + b'"}'
        assert client.post("/mcp", content=long, headers=headers).status_code == 413
        assert client.get("/healthz").status_code == 200
