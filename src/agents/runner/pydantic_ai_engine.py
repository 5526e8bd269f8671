"""The engine for real models: Pydantic AI asks them. Needs the extra `pydantic-ai`.

Pydantic AI is imported by the first run, and the library of a model's provider by Pydantic AI.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from caps.agents.runner.engine import (
    CallTool,
    Engine,
    EngineOutcome,
    EngineRequest,
    StopReason,
    Tool,
    ToolCall,
)
from caps.agents.runner.errors import EngineError
from caps.agents.runner.model import TokensUsed
from caps.protocol.errors import ConfigurationError
from caps.protocol.text import printable
from caps.store.repositories.threads import NewMessage, Role

if TYPE_CHECKING:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import Model
    from pydantic_ai.toolsets import AbstractToolset
    from pydantic_ai.usage import RunUsage

logger = logging.getLogger(__name__)


class PydanticAiEngine(Engine):
    """Asks any model that Pydantic AI supports."""

    def __init__(self, model: Model | str, *, settings: dict[str, Any] | None = None) -> None:
        """`model` is as in Pydantic AI, such as `openai:gpt-5.2`; so are its `settings`."""
        self._model = model
        self._settings = settings

    async def run(self, request: EngineRequest, call_tool: CallTool) -> EngineOutcome:
        from pydantic_ai.exceptions import AgentRunError, UsageLimitExceeded
        from pydantic_ai.usage import RunUsage, UsageLimits

        agent, usage = self._agent(request, call_tool), RunUsage()
        limits = UsageLimits(
            request_limit=request.limits.max_turns, total_tokens_limit=request.limits.max_tokens
        )
        try:
            result = await agent.run(
                request.message,
                message_history=_messages(request.history),
                usage=usage,
                usage_limits=limits,
            )
        except UsageLimitExceeded:
            reached = usage.requests >= request.limits.max_turns
            return _outcome("", usage, StopReason.TURNS if reached else StopReason.TOKENS)
        except AgentRunError as error:
            # Its text may have addresses and answers of the provider: the log has it.
            raise EngineError(f"the model failed with `{type(error).__name__}`") from error
        return _outcome(result.output, usage, StopReason.ANSWERED)

    def _agent(self, request: EngineRequest, call_tool: CallTool) -> Agent[None, str]:
        from pydantic_ai import Agent
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.models import infer_model

        try:
            return Agent(
                infer_model(self._model),
                instructions=request.system_prompt or None,
                toolsets=[_toolset(request.tools, call_tool)],
                model_settings=self._settings,  # type: ignore[arg-type]
                defer_model_check=True,
            )
        except (UserError, ImportError, ValueError) as error:
            why = printable(" ".join(str(error).split()), 300)
            raise ConfigurationError(f"the model cannot be used: {why}") from error


def require_pydantic_ai() -> None:
    """Raise ConfigurationError without the extra `pydantic-ai`."""
    from importlib.util import find_spec

    if find_spec("pydantic_ai") is None:
        raise ConfigurationError(
            "a model needs the extra `pydantic-ai`; install `caps-runtime[pydantic-ai]`"
        )


def _outcome(answer: str, usage: RunUsage, stop: StopReason) -> EngineOutcome:
    tokens = TokensUsed(input=usage.input_tokens, output=usage.output_tokens)
    return EngineOutcome(answer=answer, stop=stop, turns=usage.requests, tokens=tokens)


def _toolset(tools: Sequence[Tool], call_tool: CallTool) -> AbstractToolset[None]:
    from pydantic_ai.exceptions import ToolFailed
    from pydantic_ai.tools import RunContext, ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
    from pydantic_core import SchemaValidator, core_schema

    # Any object: the broker checks the arguments, and its errors say more.
    anything = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))

    class BrokerToolset(AbstractToolset[None]):
        @property
        def id(self) -> str | None:
            return "caps"

        async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:  # noqa: ARG002
            return {
                tool.name: ToolsetTool(
                    toolset=self,
                    tool_def=ToolDefinition(
                        name=tool.name,
                        description=tool.description,
                        parameters_json_schema=dict(tool.schema),
                        sequential=tool.sequential,
                    ),
                    max_retries=3,
                    args_validator=anything,
                )
                for tool in tools
            }

        async def call_tool(
            self,
            name: str,
            tool_args: dict[str, Any],
            ctx: RunContext[None],
            tool: ToolsetTool[None],  # noqa: ARG002
        ) -> str:
            call = ToolCall(id=ctx.tool_call_id or "", name=name, arguments=tool_args)
            answer = await call_tool(call)
            if not answer.ok:
                raise ToolFailed(answer.text)
            return answer.text

    return BrokerToolset()


def _messages(history: Sequence[NewMessage]) -> list[ModelMessage]:
    return [_message(each) for each in history]


def _message(message: NewMessage) -> ModelMessage:
    from pydantic_ai.messages import (
        ModelRequest,
        ModelResponse,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )

    tool, call_id = message.tool or "", message.call_id or ""
    match message.role:
        case Role.USER:
            return ModelRequest(parts=[UserPromptPart(content=message.content)])
        case Role.ASSISTANT:
            return ModelResponse(parts=[TextPart(content=message.content)])
        case Role.TOOL_CALL:
            part = ToolCallPart(tool_name=tool, args=message.content, tool_call_id=call_id)
            return ModelResponse(parts=[part])
        case Role.TOOL_RESULT:
            answer = ToolReturnPart(tool_name=tool, content=message.content, tool_call_id=call_id)
            return ModelRequest(parts=[answer])
