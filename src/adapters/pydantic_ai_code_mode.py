"""Code mode of Pydantic AI with Caps as the sandbox. Needs the extra `pydantic-ai`.

    host = HostFunctions(registry, raises=TOOL_ERRORS)
    async with Runtime({"allow": ["host.call"]}, registry=registry) as runtime:
        agent = Agent(model, tools=[...], capabilities=[CapsCodeMode(runtime, host)])

Like `CodeMode` of pydantic-ai-harness, it puts the agent's tools into one tool `run_code`. That one
has no place for another sandbox than its own, so this is used instead of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset
from pydantic_core import SchemaValidator, core_schema, to_jsonable_python

from caps.adapters.granted import CODE_SCHEMA
from caps.adapters.host_functions import HostFunctions, check_name
from caps.capabilities.registry import PoliciesGiven
from caps.capabilities.runtime.runtime import Runtime
from caps.protocol.errors import ConfigurationError

RUN_CODE: Final = "run_code"
TOOL_ERRORS: Final = (ModelRetry, ToolFailed)
"""Errors of tools that are meant for the model: `HostFunctions(registry, raises=TOOL_ERRORS)`."""

_ANY_OBJECT: Final = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))
_DESCRIPTION: Final = """\
Run Python in a sandbox and return its output, the value of its last expression, and errors.
Top-level `await` works. These functions are there; call them with keyword arguments and `await`:

{functions}

and what `caps` offers:

{stubs}"""


class CapsCodeMode(AbstractCapability[Any]):
    """Wraps all tools of an agent into `run_code`."""

    def __init__(
        self,
        runtime: Runtime,
        host: HostFunctions,
        *,
        principal: str = "anonymous",
        policy: PoliciesGiven | None = None,
    ) -> None:
        self._sandbox = _Sandbox(runtime, host, principal, policy)

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        return _CodeModeToolset(toolset, self._sandbox)


@dataclass(frozen=True)
class _Sandbox:
    runtime: Runtime
    host: HostFunctions
    principal: str
    policy: PoliciesGiven | None

    async def run(self, code: str, functions: Mapping[str, Callable[..., Any]]) -> str:
        session = self.runtime.session(principal=self.principal, policy=self.policy)
        async with session:
            with self.host.offered(session.id, functions):
                (await session.run(self.host.definitions(functions))).unwrap()
                result = await session.run(code)
        if not result.ok:
            raise ToolFailed(result.for_model())
        return result.for_model()


@dataclass
class _CodeModeToolset(WrapperToolset[Any]):
    sandbox: _Sandbox

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        inner = await self.wrapped.get_tools(ctx)
        for name in inner:
            check_name(name)
        if RUN_CODE in inner:
            raise ConfigurationError(f"a tool of the agent is named `{RUN_CODE}` already")
        definition = ToolDefinition(
            name=RUN_CODE,
            description=_DESCRIPTION.format(
                functions="\n".join(_signature(each.tool_def) for each in inner.values()),
                stubs=self.sandbox.runtime.stubs(self.sandbox.policy).strip(),
            ),
            parameters_json_schema=dict(CODE_SCHEMA),
            sequential=True,
        )
        tool = ToolsetTool(
            toolset=self, tool_def=definition, max_retries=3, args_validator=_ANY_OBJECT
        )
        return {RUN_CODE: tool}

    async def call_tool(
        self,
        name: str,  # noqa: ARG002 - there is one
        tool_args: dict[str, Any],
        ctx: RunContext[Any],
        tool: ToolsetTool[Any],  # noqa: ARG002
    ) -> Any:
        code = tool_args.get("code")
        if not isinstance(code, str):
            raise ModelRetry("pass the Python as `code`, a string")
        inner = await self.wrapped.get_tools(ctx)
        functions = {each: functools.partial(self._call, ctx, inner[each]) for each in inner}
        return await self.sandbox.run(code, functions)

    async def _call(self, ctx: RunContext[Any], tool: ToolsetTool[Any], /, **given: Any) -> Any:
        """The arguments are checked as Pydantic AI does, and the answer is made JSON."""
        name = tool.tool_def.name
        try:
            arguments = tool.args_validator.validate_python(given)
        except ValueError as error:
            raise ModelRetry(f"the arguments of `{name}` do not fit: {error}") from error
        answer = await self.wrapped.call_tool(name, arguments, ctx, tool)
        return to_jsonable_python(answer)


def _signature(tool: ToolDefinition) -> str:
    schema = tool.parameters_json_schema
    required = set(schema.get("required", ()))
    parts = [
        f"{name}: {field.get('type', 'object')}{'' if name in required else ' = ...'}"
        for name, field in schema.get("properties", {}).items()
    ]
    text = f"async def {tool.name}({', '.join(['*', *parts] if parts else [])})"
    return f"{text}  # {' '.join(tool.description.split())}" if tool.description else text
