"""Caps as tools of LangChain, with a scripted chat model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from caps.adapters.langchain_tools import code_tool, function_tools
from support.adapter_setup import AdapterSetup

pytestmark = pytest.mark.anyio


@pytest.fixture
async def setup() -> AsyncIterator[AdapterSetup]:
    made = AdapterSetup()
    async with made.runtime:
        yield made


def calling(name: str, **arguments: Any) -> AIMessage:
    call = {"name": name, "args": arguments, "id": "1", "type": "tool_call"}
    return AIMessage(content="", tool_calls=[call])


async def test_a_loop_with_tools(setup: AdapterSetup) -> None:
    """The usual loop: the model calls, the tools answer with messages, errors among them."""
    tools = {
        each.name: each
        for each in (
            code_tool(setup.runtime, principal="ada"),
            *function_tools(setup.runtime, principal="ada"),
        )
    }
    assert set(tools) == {"execute_code", "host_call", "stock_count"}
    assert "async def count(" in tools["execute_code"].description
    model = FakeMessagesListChatModel(
        responses=[
            calling("stock_count", sku="abc"),
            calling("stock_count", skuu="abc"),
            calling("execute_code", code="await caps.stock.count(sku='abcd')"),
            calling("execute_code", code="await caps.stock.sell(sku='a')"),
            AIMessage(content="done"),
        ]
    )
    messages: list[BaseMessage] = [HumanMessage(content="go")]
    answer = await model.ainvoke(messages)
    while answer.tool_calls:
        messages.append(answer)
        for call in answer.tool_calls:
            messages.append(await tools[call["name"]].ainvoke(call))
        answer = await model.ainvoke(messages)
    said = [each for each in messages if isinstance(each, ToolMessage)]
    assert [each.status for each in said] == ["success", "error", "success", "error"]
    assert said[0].content == "3"
    assert "skuu" in str(said[1].content)
    assert said[2].content == "result:\n4"
    assert "`stock.sell` is not granted" in str(said[3].content)
    assert ("ada", "stock.count", "allow") in setup.decisions()


async def test_the_schema_is_that_of_the_function(setup: AdapterSetup) -> None:
    """A model is told the arguments as the broker checks them."""
    (tool,) = (each for each in function_tools(setup.runtime) if each.name == "stock_count")
    assert tool.args == setup.registry.capabilities["stock.count"].spec.schema_in["properties"]
