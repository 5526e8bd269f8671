"""What a caller of a framework is granted, as tools: the granted functions, and `execute_code`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from caps.capabilities.registry import PoliciesGiven
from caps.capabilities.runtime.runtime import Runtime
from caps.protocol.errors import CallerFault

EXECUTE_CODE: Final = "execute_code"
CODE_SCHEMA: Final = {
    "type": "object",
    "properties": {"code": {"type": "string", "description": "the Python to run"}},
    "required": ["code"],
    "additionalProperties": False,
}
_DESCRIPTION: Final = """\
Run Python in a sandbox and return its output, the value of its last expression, and errors.
Top-level `await` works. There are no files, processes or network but what `caps` offers:

{stubs}"""


class ToolText(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool answers the model."""

    text: str
    ok: bool


class GrantedFunction(msgspec.Struct, frozen=True, kw_only=True):
    """A function that the policies grant, as a tool."""

    tool: str
    """`files_read` for `files.read`: names of tools have no dots."""
    function: str
    description: str
    schema: Mapping[str, Any]


class GrantedCaller:
    """The runtime for one caller: who it is, and the policies beneath the runtime's own."""

    def __init__(
        self,
        runtime: Runtime,
        *,
        principal: str = "anonymous",
        agent: str | None = None,
        session: str | None = None,
        policy: PoliciesGiven | None = None,
    ) -> None:
        self.runtime = runtime
        self._who: dict[str, Any] = {
            "principal": principal,
            "agent": agent,
            "session": session,
            "policy": policy,
        }

    def functions(self) -> tuple[GrantedFunction, ...]:
        """Those that are granted now, by name. The runtime must be open."""
        registry, policy = self.runtime.registry, self._who["policy"]
        given = () if policy is None else policy if isinstance(policy, (list, tuple)) else (policy,)
        granted = registry.chain((*self.runtime.policies, *given)).granted
        functions = registry.capabilities
        specs = [functions[name].spec for name in sorted(granted)]
        return tuple(
            GrantedFunction(
                tool=spec.name.replace(".", "_"),
                function=spec.name,
                description=spec.description or spec.title,
                schema=spec.schema_in,
            )
            for spec in specs
        )

    def code_description(self) -> str:
        """The description of `execute_code`, with the stubs of what is granted now."""
        return _DESCRIPTION.format(stubs=self.runtime.stubs(self._who["policy"]).strip())

    async def call(self, function: str, payload: object) -> ToolText:
        """Call a function. What the model did wrong is in the text; other errors are raised."""
        if not isinstance(payload, Mapping):
            return ToolText(text="error:\nthe arguments must be a JSON object", ok=False)
        try:
            result = await self.runtime.call(function, payload, **self._who)
        except CallerFault as error:
            return ToolText(text=f"error:\n{error.message}", ok=False)
        return ToolText(text=result.for_model(), ok=result.ok)

    async def run(self, code: object) -> ToolText:
        """Run code in a worker of its own."""
        if not isinstance(code, str):
            return ToolText(text="error:\npass the Python as `code`, a string", ok=False)
        result = await self.runtime.run(code, **self._who)
        return ToolText(text=result.for_model(), ok=result.ok)
