"""Caps as tools of the OpenAI Agents SDK. Needs the extra `openai-agents`.

agent = Agent(name="a", tools=[code_tool(runtime, principal="ada")])
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any, Unpack

import msgspec
from agents import FunctionTool
from agents.tool_context import ToolContext

from caps.adapters.granted import CODE_SCHEMA, EXECUTE_CODE, GrantedCaller, ToolText
from caps.adapters.options import CallerOptions
from caps.capabilities.runtime.runtime import Runtime

_Use = Callable[[Any], Awaitable[ToolText]]


def code_tool(runtime: Runtime, **options: Unpack[CallerOptions]) -> FunctionTool:
    """`execute_code`, with the stubs of what is granted in its description."""
    caller = GrantedCaller(runtime, **options)

    async def use(arguments: Any) -> ToolText:
        return await caller.run(arguments.get("code") if isinstance(arguments, dict) else None)

    return _tool(EXECUTE_CODE, caller.code_description(), dict(CODE_SCHEMA), use)


def function_tools(runtime: Runtime, **options: Unpack[CallerOptions]) -> list[FunctionTool]:
    """Each function that is granted now as a tool."""
    caller = GrantedCaller(runtime, **options)
    return [
        _tool(
            each.tool,
            each.description,
            dict(each.schema),
            functools.partial(caller.call, each.function),
        )
        for each in caller.functions()
    ]


def _tool(name: str, description: str, schema: dict[str, Any], use: _Use) -> FunctionTool:
    async def invoke(_context: ToolContext[Any], arguments: str) -> str:
        try:
            given = msgspec.json.decode(arguments or "{}")
        except (msgspec.MsgspecError, RecursionError) as error:
            return f"error:\nthe arguments are not valid JSON: {error}"
        return (await use(given)).text

    return FunctionTool(
        name=name,
        description=description,
        params_json_schema=schema,
        on_invoke_tool=invoke,
        strict_json_schema=False,  # strict mode has no optional arguments
    )
