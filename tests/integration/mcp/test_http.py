"""A server over streamable HTTP: with a header that is a secret, and one that is too large."""

from __future__ import annotations

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
from support.web_servers import WebServer

pytestmark = pytest.mark.anyio

_SERVER = """
import sys
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("http")

@server.tool()
def header(ctx: Context) -> str:
    return ctx.request_context.request.headers["x-key"]

@server.tool()
def large() -> str:
    return "x" * 8_000_000

server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]), json_response=True)
"""


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    import socket
    import subprocess

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    source = tmp_path / "server.py"
    source.write_text(_SERVER)
    process = subprocess.Popen(
        [sys.executable, str(source), str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


async def _until_served(address: str) -> None:
    port = int(address.split(":")[2].partition("/")[0])
    with anyio.fail_after(60):
        while True:
            try:
                async with await anyio.connect_tcp("127.0.0.1", port):
                    return
            except OSError:
                await anyio.sleep(0.05)


async def test_a_server_over_http(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its header has the secret, and its answers do not."""
    await _until_served(address)
    monkeypatch.setenv("CAPS_SECRET_WEB", "a secret of the host")
    headers = {"X-Key": {"secret": "web", "prefix": "key "}}
    configured = server("web", url=address, headers=headers)
    offer = await probe(configured)
    pin = make_pin(configured, offer.tools, offer.name, offer.version)
    async with open_servers() as servers:
        with anyio.fail_after(60):
            found = await servers.call(context(), pin, configured, "header", {}, None)
            assert found["text"] == "key [secret]"
            with pytest.raises(ProviderError):
                await servers.call(context(), pin, configured, "large", {}, None)


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
