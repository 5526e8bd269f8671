"""Caps as a toolset and as the code mode of Pydantic AI, with a scripted model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from caps.adapters.pydantic_ai_code_mode import TOOL_ERRORS, CapsCodeMode
from caps.adapters.pydantic_ai_tools import CapsToolset
from support.adapter_setup import AdapterSetup

pytestmark = pytest.mark.anyio


@pytest.fixture
async def setup() -> AsyncIterator[AdapterSetup]:
    made = AdapterSetup(raises=TOOL_ERRORS)
    async with made.runtime:
        yield made


class Script:
    """Makes its calls, one a turn, then answers with what they returned."""

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        self.calls = calls
        self.tools: dict[str, str] = {}

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.tools = {each.name: each.description or "" for each in info.function_tools}
        parts = [part for message in messages for part in message.parts]
        done = [part.content for part in parts if isinstance(part, ToolReturnPart)]
        if len(done) < len(self.calls):
            return ModelResponse(parts=[ToolCallPart(*self.calls[len(done)])])
        return ModelResponse(parts=[TextPart("|".join(map(str, done)))])


async def test_the_toolset(setup: AdapterSetup) -> None:
    """The granted functions are tools, and code has them, too; nothing else is there."""
    script = Script(
        ("stock_count", {"sku": "abc"}),
        ("stock_count", {"skuu": "abc"}),
        ("execute_code", {"code": "await caps.stock.count(sku='abcd')"}),
        ("execute_code", {"code": "await caps.stock.sell(sku='a')"}),
    )
    toolset = CapsToolset(setup.runtime, principal="ada")
    agent = Agent(FunctionModel(script), toolsets=[toolset])
    first, second, third, fourth = (await agent.run("go")).output.split("|")
    assert set(script.tools) == {"stock_count", "host_call", "execute_code"}
    assert "async def count(" in script.tools["execute_code"]
    assert "sell" not in script.tools["execute_code"]
    assert (first, third) == ("3", "result:\n4")
    assert "skuu" in second
    assert "`stock.sell` is not granted" in fourth
    assert ("ada", "stock.count", "allow") in setup.decisions()


async def test_code_mode(setup: AdapterSetup) -> None:
    """The tools of the agent are functions of the code, checked by Pydantic AI and recorded."""
    code = """
prices = [await price(sku=sku) for sku in ("a", "bb")]
print(prices)
try:
    await price(sku=1)
except ProviderError as error:
    print(error)
sum(prices) + await caps.stock.count(sku="abc")
"""
    script = Script(("run_code", {"code": code}))
    mode = CapsCodeMode(setup.runtime, setup.host, principal="ada")
    agent = Agent(FunctionModel(script), capabilities=[mode])

    @agent.tool_plain
    def price(sku: str) -> int:
        """What it costs."""
        return 10 * len(sku)

    answer = (await agent.run("go")).output
    assert list(script.tools) == ["run_code"]
    assert "async def price(*, sku: string)  # What it costs." in script.tools["run_code"]
    assert "[10, 20]" in answer
    assert "the arguments of `price` do not fit" in answer
    assert answer.endswith("result:\n33")
    assert [each[1] for each in setup.decisions()] == ["host.call"] * 3 + ["stock.count"]


async def test_errors_of_tools_in_code_mode(setup: AdapterSetup) -> None:
    """What a tool tells the model reaches it; the text of any other error does not."""
    code = """
for tool in (retry, leak):
    try:
        await tool()
    except ProviderError as error:
        print(error)
"""
    script = Script(("run_code", {"code": code}), ("run_code", {"code": "await leak()"}))
    agent = Agent(FunctionModel(script), capabilities=[CapsCodeMode(setup.runtime, setup.host)])

    @agent.tool_plain
    def retry() -> str:
        raise ModelRetry("use a smaller number")

    @agent.tool_plain
    def leak() -> str:
        raise RuntimeError("password is hunter2")

    answer = (await agent.run("go")).output
    assert "use a smaller number" in answer
    assert "hunter2" not in answer
    assert "ProviderError" in answer
