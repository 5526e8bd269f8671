"""The tools that a client of MCP gets, and what calling them does. With the SDK's own client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client, ConnectMode
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from mcp_types import ImageContent, TextContent

from caps.security.audit import DecisionMade
from caps.security.audit.files.reader import read_records
from support.mcp_serving import command, environment, pipe_server, policy_file

TESTS = Path(__file__).parents[2]
OWN = {"execute_code", "search_capabilities"}
MODES: tuple[ConnectMode, ...] = ("legacy", "auto")


@asynccontextmanager
async def connected(
    state: Path, *options: str, mode: ConnectMode = "auto", **more: Any
) -> AsyncIterator[Client]:
    """A client of a server on pipes."""
    program, *arguments = command("--audit", str(state / "audit"), *options)
    parameters = StdioServerParameters(
        command=program, args=arguments, env=environment(state), cwd=TESTS
    )
    with (state / "stderr").open("w") as errors:
        async with Client(stdio_client(parameters, errlog=errors), mode=mode, **more) as client:
            yield client


def agent_file(state: Path, capabilities: Any, **keys: Any) -> str:
    path = state / "agent.json"
    path.write_text(json.dumps({"name": "clerk", "capabilities": capabilities, **keys}))
    return str(path)


async def names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


def text_of(result: Any) -> str:
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text


@pytest.mark.parametrize(
    ("allow", "deny", "served"),
    [
        (["time.now"], [], {"time_now"}),
        (["math.*"], ["math.divide"], {"math_add", "math_subtract", "math_multiply"}),
        ([], [], set()),
    ],
)
def test_exactly_the_granted_functions_are_tools(
    allow: list[str], deny: list[str], served: set[str], tmp_path: Path
) -> None:
    """Whatever the policy grants, and nothing else."""

    async def main() -> None:
        policy = policy_file(tmp_path, allow=allow, deny=deny)
        async with connected(tmp_path, "--policy", policy) as client:
            assert await names(client) == served | OWN

    anyio.run(main)


@pytest.mark.parametrize(
    ("capabilities", "served"),
    [
        ({"test_math": {"tools": ["add"]}}, {"add"}),
        ({"test_math": {"prefix": "sum_"}, "current_time": {}}, {"sum_add", "get_current_time"}),
        ({"test_math": {"tools": []}}, set()),
    ],
)
def test_an_agent_gets_its_own_tools_under_the_ceiling(
    capabilities: Any, served: set[str], tmp_path: Path
) -> None:
    """By the keys of its object; what the operator withholds is not there."""

    async def main() -> None:
        policy = policy_file(tmp_path, allow=["math.add", "time.now"])
        agent = agent_file(tmp_path, capabilities)
        async with connected(tmp_path, "--policy", policy, "--agent", agent) as client:
            assert await names(client) == served | OWN

    anyio.run(main)


def test_an_agent_that_names_an_unknown_tool_is_refused(tmp_path: Path) -> None:
    """With the nearest name, before anything is served."""
    policy = policy_file(tmp_path, allow=["math.add"])
    agent = agent_file(tmp_path, {"test_math": {"tools": ["ad"]}})
    with pipe_server(tmp_path, "--policy", policy, "--agent", agent, initialize=False) as server:
        assert server.end() == 2
        assert b"did you mean `add`?" in b"".join(server.errors)
        assert server.lines.get(timeout=60) is None


@pytest.mark.parametrize("mode", MODES)
def test_a_call_has_text_and_structured_content(mode: ConnectMode, tmp_path: Path) -> None:
    """In both eras of the protocol; the SDK's client checks it against the tool's schema."""

    async def main() -> None:
        policy = policy_file(tmp_path, allow=["math.*", "time.now"])
        async with connected(tmp_path, "--policy", policy, mode=mode) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            add = tools["math_add"]
            assert add.input_schema["type"] == "object"
            assert add.output_schema is not None
            assert add.output_schema["type"] == "object"
            assert add.annotations is not None
            assert add.annotations.read_only_hint is True
            assert add.annotations.idempotent_hint is True
            result = await client.call_tool("math_add", {"a": 1, "b": 2})
            assert result.structured_content == {"result": 3}
            assert json.loads(text_of(result)) == {"result": 3}
            assert not result.is_error
            bad = await client.call_tool("math_add", {"a": 1})
            assert bad.is_error
            assert "ValidationError" in text_of(bad)
            with pytest.raises(MCPError, match="did you mean `math_add`"):
                await client.call_tool("math_ad", {})

    anyio.run(main)


def test_calls_are_on_record_with_session_and_way(tmp_path: Path) -> None:
    """Also one of a function that is not granted, and one from code."""

    async def main() -> None:
        policy = policy_file(tmp_path, allow=["math.add"])
        async with connected(
            tmp_path, "--policy", policy, "--principal", "ada", "--session", "s1"
        ) as client:
            await client.call_tool("math_add", {"a": 1, "b": 2})
            refused = await client.call_tool("files_read", {"path": "/etc/passwd"})
            assert refused.is_error
            assert "PolicyDeniedError" in text_of(refused)
            await client.call_tool("execute_code", {"code": "await caps.math.add(1, 2)"})

    anyio.run(main)
    events = [each.event for each in read_records(tmp_path / "audit")]
    decisions = [each for each in events if isinstance(each, DecisionMade)]
    assert [(each.capability, each.decision) for each in decisions] == [
        ("math.add", "allow"),
        ("files.read", "deny"),
        ("math.add", "allow"),
    ]
    assert {(each.principal, each.session, each.via) for each in decisions} == {
        ("ada", "s1", "mcp")
    }


@pytest.mark.parametrize("mode", MODES)
def test_code_runs_under_the_same_grant(mode: ConnectMode, tmp_path: Path) -> None:
    """The stubs are in the description; a picture comes as one; a refusal is told."""
    code = """
import base64
await caps.artifacts.save(name="dot.png", content=base64.b64decode("iVBORw0KGgo="))
print("hello", given)
try:
    await caps.files.read("x")
except PolicyDeniedError as error:
    print(error.code)
(await caps.math.add(1, 2)).result
"""

    async def main() -> None:
        policy = policy_file(tmp_path, allow=["math.add", "artifacts.save"])
        async with connected(tmp_path, "--policy", policy, mode=mode) as client:
            tool = next(t for t in (await client.list_tools()).tools if t.name == "execute_code")
            assert tool.description is not None
            assert "async def add(self, a:" in tool.description
            assert "subtract" not in tool.description
            result = await client.call_tool("execute_code", {"code": code, "inputs": {"given": 7}})
            assert not result.is_error, text_of(result)
            assert "hello 7" in text_of(result)
            data = result.structured_content
            assert data is not None
            assert (data["value"], data["ok"]) == (3, True)
            picture = result.content[1]
            assert isinstance(picture, ImageContent)
            assert picture.mime_type == "image/png"
            broken = await client.call_tool("execute_code", {"code": "1 / 0"})
            assert broken.is_error
            assert "ZeroDivisionError" in text_of(broken)
            assert broken.structured_content is not None
            assert broken.structured_content["error"]["line"] == 1

    anyio.run(main)


def test_an_agent_with_its_own_execute_code_has_one_tool_of_that_name(tmp_path: Path) -> None:
    """The server's own is the same thing under the same grant."""

    async def main() -> None:
        policy = policy_file(tmp_path, allow=["sandbox.execute_code"])
        agent = agent_file(tmp_path, ["sandbox"], system_prompt="Be brief.")
        async with connected(tmp_path, "--policy", policy, "--agent", agent) as client:
            found = [tool.name for tool in (await client.list_tools()).tools]
            assert found == ["execute_code", "search_capabilities"]
            prompts = (await client.list_prompts()).prompts
            assert [each.name for each in prompts] == ["instructions"]
            prompt = await client.get_prompt("instructions")
            content = prompt.messages[0].content
            assert isinstance(content, TextContent)
            assert content.text.endswith("Be brief.")

    anyio.run(main)


def test_a_thousand_functions_cost_a_few_hundred_tokens(tmp_path: Path) -> None:
    """They are found by searching; one that is found can be called, and used in code."""

    async def main() -> None:
        policy = policy_file(tmp_path, allow=["shelf.*"])
        registry = ("--registry", "support.many_functions:registry")
        async with connected(tmp_path, "--policy", policy, *registry) as client:
            listed = await client.list_tools()
            assert {tool.name for tool in listed.tools} == OWN
            hidden = {"output_schema"}  # which clients do not show to models
            shown = "".join(tool.model_dump_json(exclude=hidden) for tool in listed.tools)
            assert len(shown) / 4 < 600  # four characters a token
            found = await client.call_tool("search_capabilities", {"query": "item 731", "limit": 3})
            data = found.structured_content
            assert data is not None
            assert data["matches"][0]["function"] == "shelf.item_731"
            assert "async def item_731(" in text_of(found)
            called = await client.call_tool(data["matches"][0]["tool"], {"count": 2})
            assert called.structured_content == {"result": "731 x 2"}
        async with connected(tmp_path, "--policy", policy, *registry, "--tools", "all") as client:
            listed = await client.list_tools()
            pages, cursor = [*listed.tools], listed.next_cursor
            assert cursor is not None
            while cursor is not None:
                listed = await client.list_tools(cursor=cursor)
                pages, cursor = [*pages, *listed.tools], listed.next_cursor
            assert len(pages) == 1002
            assert len({tool.name for tool in pages}) == 1002

    anyio.run(main)


def test_code_can_be_left_out(tmp_path: Path) -> None:
    """Then it is not a tool, and cannot be called."""

    async def main() -> None:
        policy = policy_file(tmp_path, allow=["time.now"])
        async with connected(tmp_path, "--policy", policy, "--no-code") as client:
            assert await names(client) == {"search_capabilities", "time_now"}
            with pytest.raises(MCPError, match="there is no tool"):
                await client.call_tool("execute_code", {"code": "1"})

    anyio.run(main)
