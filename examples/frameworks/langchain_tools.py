"""Caps as tools of LangChain. Needs `caps-runtime[langchain]`.

The model is a script; use `init_chat_model("...").bind_tools(tools)`.

    python examples/frameworks/langchain_tools.py
"""

import asyncio

from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, HumanMessage

from caps import MemoryAuditLog, Runtime, builtin_registry
from caps.adapters.langchain_tools import code_tool, function_tools


def calling(name, **arguments):
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "1"}])


async def main() -> None:
    policy = {"id": "sums", "allow": ["math.add"]}
    model = FakeMessagesListChatModel(
        responses=[
            calling("math_add", a=1, b=2),
            calling("execute_code", code="(await caps.math.add(a=20, b=22)).result"),
            AIMessage("done"),
        ]
    )
    async with Runtime(policy, registry=builtin_registry(), audit=MemoryAuditLog()) as runtime:
        options = {"principal": "ada"}
        tools = [code_tool(runtime, **options), *function_tools(runtime, **options)]
        by_name = {tool.name: tool for tool in tools}
        messages = [HumanMessage("add them")]
        answer = await model.ainvoke(messages)
        while answer.tool_calls:
            messages.append(answer)
            for call in answer.tool_calls:
                said = await by_name[call["name"]].ainvoke(call)
                print(said.content)
                messages.append(said)
            answer = await model.ainvoke(messages)


if __name__ == "__main__":
    asyncio.run(main())
