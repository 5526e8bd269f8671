"""Caps as tools of the OpenAI Agents SDK. Needs `caps-runtime[openai-agents]`.

The model is a script; leave `model` out to ask OpenAI's.

    python examples/frameworks/openai_agents_tools.py
"""

import asyncio
import json

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from caps import MemoryAuditLog, Runtime, builtin_registry
from caps.adapters.openai_agents_tools import code_tool, function_tools

CODE = "(await caps.math.add(a=20, b=22)).result"


class Script(Model):
    """Runs the code, and answers with its result."""

    async def get_response(self, *args, **kwargs):
        said = [each for each in kwargs.get("input") or args[1] if each.get("output")]
        if said:
            text = ResponseOutputText(text=said[-1]["output"], type="output_text", annotations=[])
            item = ResponseOutputMessage(
                id="1", content=[text], role="assistant", status="completed", type="message"
            )
        else:
            item = ResponseFunctionToolCall(
                name="execute_code",
                arguments=json.dumps({"code": CODE}),
                call_id="1",
                type="function_call",
            )
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


async def main() -> None:
    policy = {"id": "sums", "allow": ["math.add"]}
    async with Runtime(policy, registry=builtin_registry(), audit=MemoryAuditLog()) as runtime:
        options = {"principal": "ada"}
        tools = [code_tool(runtime, **options), *function_tools(runtime, **options)]
        agent = Agent(name="sums", model=Script(), tools=tools)
        result = await Runner.run(agent, "add them", run_config=RunConfig(tracing_disabled=True))
        print(result.final_output)


if __name__ == "__main__":
    asyncio.run(main())
