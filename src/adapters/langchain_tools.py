"""Caps as tools of LangChain and LangGraph. Needs the extra `langchain`.

tools = [code_tool(runtime, principal="ada"), *function_tools(runtime, principal="ada")]
model.bind_tools(tools)
"""

from __future__ import annotations

from typing import Any, Unpack

from langchain_core.tools import StructuredTool, ToolException

from caps.adapters.granted import CODE_SCHEMA, EXECUTE_CODE, GrantedCaller, ToolText
from caps.adapters.options import CallerOptions
from caps.capabilities.runtime.runtime import Runtime


def code_tool(runtime: Runtime, **options: Unpack[CallerOptions]) -> StructuredTool:
    """`execute_code`, with the stubs of what is granted in its description."""
    caller = GrantedCaller(runtime, **options)

    async def execute_code(code: str) -> str:
        return _checked(await caller.run(code))

    return _tool(EXECUTE_CODE, caller.code_description(), dict(CODE_SCHEMA), execute_code)


def function_tools(runtime: Runtime, **options: Unpack[CallerOptions]) -> list[StructuredTool]:
    """Each function that is granted now as a tool."""
    caller = GrantedCaller(runtime, **options)
    tools = []
    for each in caller.functions():

        async def call(_function: str = each.function, **payload: Any) -> str:
            return _checked(await caller.call(_function, payload))

        tools.append(_tool(each.tool, each.description, dict(each.schema), call))
    return tools


def _tool(name: str, description: str, schema: dict[str, Any], coroutine: Any) -> StructuredTool:
    # Errors are answers: the model repairs its call.
    return StructuredTool(
        name=name,
        description=description,
        args_schema=schema,
        coroutine=coroutine,
        handle_tool_error=True,
    )


def _checked(answer: ToolText) -> str:
    """The text; ToolException, which marks the message as an error."""
    if not answer.ok:
        raise ToolException(answer.text)
    return answer.text
