"""Caps as the sandbox of FastMCP's code mode, with a real server and client."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.experimental.transforms.code_mode import CodeMode
from mcp_types import TextContent

from caps.adapters.fastmcp_sandbox import CapsSandbox
from support.adapter_setup import AdapterSetup

pytestmark = pytest.mark.anyio


@pytest.fixture
async def setup() -> AsyncIterator[AdapterSetup]:
    made = AdapterSetup(raises=(ToolError,))
    async with made.runtime:
        yield made


def server(setup: AdapterSetup) -> FastMCP:
    sandbox = CapsSandbox(setup.runtime, setup.host, principal="ada")
    mcp: FastMCP = FastMCP("shop", transforms=[CodeMode(sandbox_provider=sandbox)])

    @mcp.tool
    def price(sku: str) -> int:
        """What it costs."""
        return 10 * len(sku)

    return mcp


async def test_code_calls_tools_of_the_server_and_functions_of_the_policy(
    setup: AdapterSetup,
) -> None:
    """Both in one program; each call is decided and recorded."""
    code = """
first = await call_tool("price", {"sku": "abc"})
return [first["result"], await caps.stock.count(sku="abcd")]
"""
    async with Client(server(setup)) as client:
        result = await client.call_tool("execute", {"code": code})
    assert [each.text for each in result.content if isinstance(each, TextContent)] == ["[30,4]"]
    assert setup.decisions() == [("ada", "host.call", "allow"), ("ada", "stock.count", "allow")]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("await caps.stock.sell(sku='a')", "`stock.sell` is not granted"),
        ("await call_tool('price', {'sku': 1})", "sku"),
        ("await call_tool('prise', {})", "prise"),
        ("open('/etc/passwd')", "NameError"),
        ("import os; os.system('id')", "os"),
    ],
)
async def test_what_fails_reaches_the_model(setup: AdapterSetup, code: str, expected: str) -> None:
    """As an error of the tool, with what the model needs to repair its code."""
    async with Client(server(setup)) as client:
        with pytest.raises(ToolError, match=expected):
            await client.call_tool("execute", {"code": code})


async def test_an_error_of_the_host_stays_there(setup: AdapterSetup) -> None:
    """The text of an error that was not meant for the model is not in the answer."""

    def leak() -> str:
        raise RuntimeError("password is hunter2")

    with pytest.raises(ToolError, match="ProviderError") as caught:
        await CapsSandbox(setup.runtime, setup.host).run(
            "await leak()", external_functions={"leak": leak}
        )
    assert "hunter2" not in str(caught.value)


async def test_functions_of_one_run_are_gone_in_the_next(setup: AdapterSetup) -> None:
    """What was offered belongs to its session."""
    sandbox = CapsSandbox(setup.runtime, setup.host)
    assert await sandbox.run("await double(4)", external_functions={"double": lambda n: 2 * n}) == 8
    with pytest.raises(ToolError, match="NameError"):
        await sandbox.run("await double(4)")
    with pytest.raises(ToolError, match="there is no such function"):
        await sandbox.run("await caps.host.call(function='double', args=[4], kwargs={})")
    assert await sandbox.run("n + 1", inputs={"n": 1}) == 2
