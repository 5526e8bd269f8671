"""Caps as tools of the OpenAI Agents SDK, with a scripted model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from caps.adapters.openai_agents_tools import code_tool, function_tools
from support.adapter_setup import AdapterSetup

pytestmark = pytest.mark.anyio


@pytest.fixture
async def setup() -> AsyncIterator[AdapterSetup]:
    made = AdapterSetup()
    async with made.runtime:
        yield made


class Script(Model):
    """Makes its calls, one a turn, then says that it is done."""

    def __init__(self, *calls: tuple[str, str]) -> None:
        self.calls = list(calls)
        self.inputs: list[Any] = []

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        self.inputs.append(kwargs.get("input") or args[1])
        item: Any
        if self.calls:
            name, arguments = self.calls.pop(0)
            item = ResponseFunctionToolCall(
                name=name, arguments=arguments, call_id=str(len(self.inputs)), type="function_call"
            )
        else:
            text = ResponseOutputText(text="done", type="output_text", annotations=[])
            item = ResponseOutputMessage(
                id="1", content=[text], role="assistant", status="completed", type="message"
            )
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


async def test_a_run_with_tools(setup: AdapterSetup) -> None:
    """The granted functions and code; what fails is an answer that the model reads."""
    script = Script(
        ("stock_count", json.dumps({"sku": "abc"})),
        ("stock_count", "{"),
        ("execute_code", json.dumps({"code": "await caps.stock.count(sku='abcd')"})),
        ("execute_code", json.dumps({"code": "await caps.stock.sell(sku='a')"})),
    )
    tools = [
        code_tool(setup.runtime, principal="ada"),
        *function_tools(setup.runtime, principal="ada"),
    ]
    agent = Agent(name="shop", model=script, tools=list(tools))
    result = await Runner.run(agent, "go", run_config=RunConfig(tracing_disabled=True))
    assert result.final_output == "done"
    said = [each["output"] for each in script.inputs[-1] if each.get("output") is not None]
    assert said[0] == "3"
    assert "not valid JSON" in said[1]
    assert said[2] == "result:\n4"
    assert "`stock.sell` is not granted" in said[3]
    assert ("ada", "stock.count", "allow") in setup.decisions()
