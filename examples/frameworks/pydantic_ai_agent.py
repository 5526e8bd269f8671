"""Pydantic AI with Caps: as a toolset, and as a code mode for tools of the agent's own.

The model is a script; use `Agent("openai:gpt-5.2", ...)`. Needs `caps-runtime[pydantic-ai]`.

    python examples/frameworks/pydantic_ai_agent.py
"""

import asyncio

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from caps import MemoryAuditLog, Runtime, builtin_registry
from caps.adapters.host_functions import HostFunctions
from caps.adapters.pydantic_ai_code_mode import TOOL_ERRORS, CapsCodeMode
from caps.adapters.pydantic_ai_tools import CapsToolset


def scripted(tool, code):
    """A model that runs `code` with `tool`, and answers with the result."""

    def model(messages, _info):
        last = messages[-1].parts[-1]
        if isinstance(last, ToolReturnPart):
            return ModelResponse(parts=[TextPart(last.content)])
        return ModelResponse(parts=[ToolCallPart(tool, {"code": code})])

    return FunctionModel(model)


async def main() -> None:
    registry = builtin_registry()
    host = HostFunctions(registry, raises=TOOL_ERRORS)
    policy = {"id": "sums", "allow": ["math.add", "host.call"]}
    async with Runtime(policy, registry=registry, audit=MemoryAuditLog()) as runtime:
        model = scripted("execute_code", "(await caps.math.add(a=20, b=22)).result")
        agent = Agent(model, toolsets=[CapsToolset(runtime, principal="ada")])
        print((await agent.run("add them")).output)

        model = scripted("run_code", "[await double(n=n) for n in range(3)]")
        agent = Agent(model, capabilities=[CapsCodeMode(runtime, host, principal="ada")])

        @agent.tool_plain
        def double(n: int) -> int:
            """Twice the number."""
            return 2 * n

        print((await agent.run("double them")).output)


if __name__ == "__main__":
    asyncio.run(main())
