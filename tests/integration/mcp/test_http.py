"""A server over streamable HTTP: with a header that is a secret, and one that is too large."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from caps.mcp.client.pins import make_pin
from caps.mcp.client.probing import probe
from caps.mcp.client.servers import open_servers
from caps.protocol.errors import ProviderError
from support.mcp_servers import context, server
from support.web_servers import Exchange, WebServer

pytestmark = pytest.mark.anyio

_SERVER = """
import sys
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("http")

@server.tool()
def header(ctx: Context) -> str:
    return ctx.request_context.request.headers["x-key"]

@server.tool()
def ping() -> str:
    return "pong"

@server.tool()
def large() -> str:
    return "x" * 8_000_000

server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]), json_response=True)
"""


class Served:
    """A server of the SDK on a port of its own, which can be started again."""

    def __init__(self, source: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}/mcp"
        self._source = source
        self._source.write_text(_SERVER)
        self._process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(self._source), str(self.port)]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, stdout=quiet, stderr=quiet)

    async def ready(self) -> None:
        with anyio.fail_after(60):
            while True:
                try:
                    async with await anyio.connect_tcp("127.0.0.1", self.port):
                        return
                except OSError:
                    await anyio.sleep(0.05)

    def restart(self) -> None:
        self.close()
        self._process = self._started()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    server = Served(tmp_path / "server.py")
    try:
        yield server
    finally:
        server.close()


async def test_a_server_over_http(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its header has the secret, and its answers do not."""
    await served.ready()
    monkeypatch.setenv("CAPS_SECRET_WEB", "a secret of the host")
    headers = {"X-Key": {"secret": "web", "prefix": "key "}}
    configured = server("web", url=served.address, headers=headers)
    offer = await probe(configured)
    pin = make_pin(configured, offer.tools, offer.name, offer.version)
    async with open_servers() as servers:
        with anyio.fail_after(60):
            found = await servers.call(context(), pin, configured, "header", {}, None)
            assert found["text"] == "key [secret]"
            with pytest.raises(ProviderError):
                await servers.call(context(), pin, configured, "large", {}, None)


async def test_a_session_that_the_server_forgot_is_opened_again(served: Served) -> None:
    """After a restart of the server calls fail for a while, and not for ever."""
    await served.ready()
    configured = server("web", url=served.address, protocol="legacy")
    offer = await probe(configured)
    pin = make_pin(configured, offer.tools, offer.name, offer.version)
    async with open_servers() as servers:

        async def call() -> str:
            return str((await servers.call(context(), pin, configured, "ping", {}, None))["text"])

        assert await call() == "pong"
        served.restart()
        await served.ready()
        with anyio.fail_after(60):
            while True:
                try:
                    assert await call() == "pong"
                    return
                except ProviderError:
                    await anyio.sleep(0.1)


async def test_a_flood_ends_the_connection() -> None:
    """A stream of events that never holds the answer."""
    event = b'data: {"jsonrpc":"2.0","method":"notifications/message"}\n\n' * 100

    def flood(exchange: Exchange) -> None:
        exchange.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        while True:
            exchange.send(event)

    with WebServer() as web:
        configured = server("web", url=web.route("/mcp", flood), protocol="legacy")
        with pytest.raises(ProviderError, match="the server floods its client"):
            await probe(configured)


async def test_what_is_not_a_server_is_an_error() -> None:
    """A page of HTML, or nothing at all."""
    with WebServer() as web:
        configured = server("web", url=web.page("/mcp", "<h1>Hello</h1>"), start_ms=20_000)
        with pytest.raises(ProviderError, match="the MCP server `web`"):
            await probe(configured)
        gone = server("web", url=f"http://127.0.0.1:{web.port}/none", start_ms=20_000)
        with pytest.raises(ProviderError, match="the MCP server `web`"):
            await probe(gone)


async def test_a_secret_that_does_not_exist_is_an_error() -> None:
    """Nothing is started without it."""
    headers = {"X-Key": {"secret": "none_of_this_name"}}
    configured = server("web", url="http://127.0.0.1:9/mcp", headers=headers)
    with pytest.raises(ProviderError, match="its secret `none_of_this_name` does not exist"):
        await probe(configured)
