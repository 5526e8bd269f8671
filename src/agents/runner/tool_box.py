"""The tools of one run, and what happens when the model calls one.

Each call of a function is a call of the runtime under the agent's policies: decided, recorded and
limited like any other. What the model can repair, it is told; a failure of the host it is not.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from caps.agents.runner.engine import Tool, ToolAnswer, ToolCall
from caps.capabilities.catalogue.result import ResolvedTool
from caps.capabilities.grant import BoundPolicy
from caps.capabilities.runtime.runtime import Runtime
from caps.protocol.errors import CallerFault, CapsError
from caps.protocol.text import did_you_mean, printable
from caps.protocol.ways import Via

HIDDEN: Final = "the tool failed on the host; this is not an error of the call"

logger = logging.getLogger(__name__)


class RunScope(msgspec.Struct, frozen=True, kw_only=True):
    """Whose calls they are, and beneath which policies."""

    runtime: Runtime
    principal: str
    agent: str
    session: str
    policies: Sequence[BoundPolicy]
    via: Via
    result_characters: int


class ToolBox(ABC):
    """What a model can call in one run. Entered before the first call, left after the last."""

    def __init__(self, scope: RunScope) -> None:
        self._scope = scope

    @property
    @abstractmethod
    def tools(self) -> tuple[Tool, ...]:
        """All of them, in the agent's order."""

    @abstractmethod
    async def _use(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Make the call. Raises CapsError."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return

    async def call(self, call: ToolCall) -> ToolAnswer:
        """Answer a call of the model. It raises nothing but what cancels it."""
        names = [tool.name for tool in self.tools]
        if call.name not in names:
            hint = did_you_mean(call.name, names)
            return _failed(f"there is no tool `{printable(str(call.name), 80)}`{hint}")
        if not isinstance(call.arguments, Mapping):
            return _failed("the arguments must be a JSON object")
        try:
            return await self._use(call.name, call.arguments)
        except CallerFault as error:
            return _failed(error.message)
        except CapsError:
            logger.exception("tool `%s` failed", call.name)
            return _failed(HIDDEN)


def _failed(message: str) -> ToolAnswer:
    return ToolAnswer(text=f"error:\n{message}", ok=False)


class FunctionTools(ToolBox):
    """Plain tool calling: each tool is one function."""

    def __init__(self, scope: RunScope, tools: Sequence[ResolvedTool]) -> None:
        super().__init__(scope)
        self._functions = {tool.key: tool.function for tool in tools}
        self._tools = tuple(
            Tool(name=tool.key, description=tool.description, schema=tool.schema)
            for tool in tools
            if tool.schema is not None
        )

    @property
    def tools(self) -> tuple[Tool, ...]:
        return self._tools

    async def _use(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        scope = self._scope
        result = await scope.runtime.call(
            self._functions[name],
            arguments,
            principal=scope.principal,
            agent=scope.agent,
            session=scope.session,
            policy=list(scope.policies),
            via=scope.via,
        )
        return ToolAnswer(text=result.for_model(scope.result_characters), ok=result.ok)
