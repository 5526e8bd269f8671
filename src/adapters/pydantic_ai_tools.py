"""Caps as a toolset of Pydantic AI. Needs the extra `pydantic-ai`.

agent = Agent("openai:gpt-5.2", toolsets=[CapsToolset(runtime, principal="ada")])
"""

from __future__ import annotations

from typing import Any, Final

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from caps.adapters.granted import CODE_SCHEMA, EXECUTE_CODE, GrantedCaller
from caps.capabilities.registry import PoliciesGiven
from caps.capabilities.runtime.runtime import Runtime

# Any object: the broker checks the arguments, and its errors say more.
_ANY_OBJECT: Final = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))


class CapsToolset(AbstractToolset[Any]):
    """The granted functions as tools, and `execute_code`, unless one of them is left out."""

    def __init__(
        self,
        runtime: Runtime,
        *,
        principal: str = "anonymous",
        agent: str | None = None,
        session: str | None = None,
        policy: PoliciesGiven | None = None,
        functions: bool = True,
        code: bool = True,
    ) -> None:
        self._caller = GrantedCaller(
            runtime, principal=principal, agent=agent, session=session, policy=policy
        )
        self._with_functions = functions
        self._with_code = code

    @property
    def id(self) -> str | None:
        return "caps"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:  # noqa: ARG002
        """What is granted now; a changed policy changes the tools of the next step."""
        found = [
            ToolDefinition(
                name=each.tool,
                description=each.description,
                parameters_json_schema=dict(each.schema),
                metadata={"function": each.function},
            )
            for each in (self._caller.functions() if self._with_functions else ())
        ]
        if self._with_code:
            code = ToolDefinition(
                name=EXECUTE_CODE,
                description=self._caller.code_description(),
                parameters_json_schema=dict(CODE_SCHEMA),
            )
            found.append(code)
        return {
            each.name: ToolsetTool(
                toolset=self, tool_def=each, max_retries=3, args_validator=_ANY_OBJECT
            )
            for each in found
        }

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],  # noqa: ARG002
        tool: ToolsetTool[Any],
    ) -> str:
        """The answer as text. Raises ToolFailed, whose text the model gets."""
        if self._with_code and name == EXECUTE_CODE:
            answer = await self._caller.run(tool_args.get("code"))
        else:
            function = (tool.tool_def.metadata or {})["function"]
            answer = await self._caller.call(function, tool_args)
        if not answer.ok:
            raise ToolFailed(answer.text)
        return answer.text
