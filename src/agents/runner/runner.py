"""Runs an agent: resolves, injects, and hands prompt, tools and MCP servers to an engine.

    runner = AgentRunner(runtime, PydanticAiEngine("openai:gpt-5.2"), store=store)
    result = await runner.run(agent, "what is due today?", RunContext(principal="ada"))

All records of a run name the agent and one session, and have one trace if something is traced.
The runner decides nothing: whatever the model does goes through the broker, beneath the policies of
the operator and those of the agent.
"""

from __future__ import annotations

import inspect
import logging
from collections import deque
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Final
from uuid import UUID

import anyio
import msgspec

from caps.agents.resolution import AgentResolver, ReadyAgent, withheld_tools
from caps.agents.runner.code_tool import CodeTool, code_prompt
from caps.agents.runner.conversation import Conversation, keep, open_conversation
from caps.agents.runner.engine import Engine, EngineOutcome, EngineRequest, StopReason
from caps.agents.runner.errors import EngineError, ThreadUnknownError
from caps.agents.runner.model import (
    MAX_MESSAGE_CHARACTERS,
    CallMode,
    RunContext,
    RunResult,
    RunStatus,
)
from caps.agents.runner.recorder import Recorder, ToolCallLimitError
from caps.agents.runner.tool_box import FunctionTools, RunScope, ToolBox
from caps.capabilities.broker.flow import FlowState
from caps.capabilities.catalogue.context import ResolverContext
from caps.capabilities.catalogue.injections import ExecutionMode
from caps.capabilities.catalogue.result import ResolvedTool
from caps.capabilities.runtime.runtime import Runtime
from caps.protocol.argument_checks import require
from caps.protocol.errors import ConfigurationError
from caps.providers.notify import outbox_of
from caps.store.errors import StoreError
from caps.store.repositories.agents import StoredAgent

if TYPE_CHECKING:
    from caps.store.database import Store

_STOPS: Final = {
    StopReason.ANSWERED: RunStatus.ANSWERED,
    StopReason.TURNS: RunStatus.TURN_LIMIT,
    StopReason.TOKENS: RunStatus.TOKEN_LIMIT,
}
_MAX_UNKEPT: Final = 1024
_HIDDEN: Final = "the engine failed; the log of the host says why"

logger = logging.getLogger(__name__)


class _End(msgspec.Struct, frozen=True, kw_only=True):
    """How the engine ended."""

    status: RunStatus
    outcome: EngineOutcome
    error: str | None = None


class _Run(msgspec.Struct, frozen=True, kw_only=True):
    """What one run holds while it runs."""

    agent: StoredAgent
    message: str
    ctx: RunContext
    conversation: Conversation
    flow: FlowState
    recorder: Recorder
    notifications: list[str]


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the thread of a run."""

    thread: UUID | None = None
    """By which it can be continued."""
    warnings: tuple[str, ...] = ()


class AgentRunner:
    """Runs agents in one runtime, with one engine. Runs may be concurrent."""

    def __init__(self, runtime: Runtime, engine: Engine, *, store: Store | None = None) -> None:
        """Without a store threads are not kept, and every run is a new one."""
        require(isinstance(engine, Engine), "engine", engine, "an `Engine`")
        self._runtime = runtime
        self._engine = engine
        self._store = store
        self._resolver = AgentResolver(runtime)
        # The marks of runs that could not be stored: they hold for the session while this does.
        self._unkept: deque[FlowState] = deque(maxlen=_MAX_UNKEPT)

    async def run(
        self, agent: StoredAgent, message: str, ctx: RunContext | None = None
    ) -> RunResult:
        """Let the agent answer `message`. What the model does wrong is in the result.

        Cancelling ends the run, its calls and its code; what it had done until then is kept in the
        thread. Raises AgentInvalidError, PolicyInvalidError and ProviderError for an agent that
        cannot be resolved, ThreadUnknownError, ConfigurationError, and StoreError if the thread
        cannot be read. A thread that cannot be stored is a warning: the answer is given.
        """
        ctx = RunContext() if ctx is None else ctx
        _check_message(message)
        conversation = await open_conversation(self._store, agent, message, ctx)
        session = conversation.thread.session
        flow = self._runtime.session_flow(ctx.principal, session, stored=conversation.owns_session)
        flow.add_marks(conversation.thread.marks)
        ready = await self._resolver.for_run(agent, _context(agent, conversation, ctx), _mode(ctx))
        run = _Run(
            agent=agent,
            message=message,
            ctx=ctx,
            conversation=conversation,
            flow=flow,
            recorder=Recorder(message, ctx.limits.max_tool_calls),
            notifications=[],
        )
        try:
            span = self._runtime.agent_span(agent.name, str(agent.id), session)
            with span as ids, self._listening(run):
                end = await self._engine_end(run, ready)
            run.recorder.answered(end.outcome.answer)
        finally:
            kept = await self._keep(run)
        return self._result(run, ready, end, ids.get("trace_id"), kept)

    async def _keep(self, run: _Run) -> _Kept:
        """Store what the run added to its thread, also if it is cancelled."""
        if self._store is None or (run.conversation.is_new and not run.ctx.keep):
            return _Kept()
        try:
            with anyio.CancelScope(shield=True):
                thread = await keep(
                    self._store, run.conversation, run.recorder.messages, run.flow.answered
                )
        except ThreadUnknownError as error:
            return _Kept(warnings=(error.message,))
        except StoreError as error:
            logger.exception("a run was not added to its thread")
            self._unkept.append(run.flow)
            return _Kept(warnings=(f"the thread lacks this run: {error.for_callers}",))
        return _Kept(thread=thread)

    def _listening(self, run: _Run) -> AbstractContextManager[None]:
        outbox = outbox_of(self._runtime.registry)
        if outbox is None or not run.ctx.silent:
            return nullcontext()
        callback = run.ctx.callbacks.get("notify_user")

        async def listen(message: str) -> None:
            run.notifications.append(message)
            if callback is not None:
                done = callback(message)
                if inspect.isawaitable(done):
                    await done

        return outbox.listening(run.ctx.principal, run.conversation.thread.session, listen)

    async def _engine_end(self, run: _Run, ready: ReadyAgent) -> _End:
        nothing = EngineOutcome(answer="")
        with anyio.move_on_after(run.ctx.limits.wall_ms / 1000):
            async with self._tool_box(run, ready) as box:
                request = self._request(run, ready, box)
                try:
                    outcome = await self._engine.run(request, run.recorder.recording(box.call))
                except ToolCallLimitError:
                    return _End(status=RunStatus.TOOL_CALL_LIMIT, outcome=nothing)
                except EngineError as error:
                    logger.warning("%s", error.message, exc_info=error.__cause__)
                    return _End(status=RunStatus.FAILED, outcome=nothing, error=error.message)
                except ConfigurationError:
                    raise
                except Exception:
                    logger.exception("the engine failed")
                    return _End(status=RunStatus.FAILED, outcome=nothing, error=_HIDDEN)
            return _End(status=_STOPS[outcome.stop], outcome=outcome)
        return _End(status=RunStatus.TIME_LIMIT, outcome=nothing)

    def _tool_box(self, run: _Run, ready: ReadyAgent) -> ToolBox:
        ctx = run.ctx
        scope = RunScope(
            runtime=self._runtime,
            principal=ctx.principal,
            agent=str(run.agent.id),
            session=run.conversation.thread.session,
            policies=ready.policies,
            via=ctx.via,
            result_characters=ctx.limits.result_characters,
        )
        if ctx.mode is CallMode.CODE:
            return CodeTool(scope)
        return FunctionTools(scope, self._given_tools(ready))

    def _given_tools(self, ready: ReadyAgent) -> list[ResolvedTool]:
        """Those that can be called through the broker now."""
        withheld = withheld_tools(self._runtime, ready)
        return [
            tool
            for tool in ready.resolved.tools
            if tool.key not in withheld and tool.schema is not None
        ]

    def _request(self, run: _Run, ready: ReadyAgent, box: ToolBox) -> EngineRequest:
        prompt = ready.system_prompt
        if run.ctx.mode is CallMode.CODE:
            prompt = code_prompt(prompt, self._runtime.stubs(ready.policies))
        return EngineRequest(
            system_prompt=prompt,
            history=run.conversation.history,
            message=run.message,
            tools=box.tools,
            mcp_servers=ready.resolved.mcp_servers,
            limits=run.ctx.limits,
        )

    def _result(
        self, run: _Run, ready: ReadyAgent, end: _End, trace_id: str | None, kept: _Kept
    ) -> RunResult:
        outside = [tool.key for tool in ready.resolved.tools if tool.schema is None]
        return RunResult(
            status=end.status,
            answer=end.outcome.answer,
            error=end.error,
            thread_id=kept.thread,
            session=run.conversation.thread.session,
            trace_id=trace_id,
            turns=end.outcome.turns,
            tool_calls=run.recorder.tool_calls,
            tokens=end.outcome.tokens,
            notifications=tuple(run.notifications),
            messages=tuple(run.recorder.messages),
            labels=run.flow.labels,
            withheld=withheld_tools(self._runtime, ready),
            warnings=(
                *ready.resolved.warnings,
                *kept.warnings,
                *(f"tool `{key}` has no function, so it is not offered" for key in outside),
            ),
        )


def _check_message(message: object) -> None:
    require(isinstance(message, str), "message", message, "a `str`")
    assert isinstance(message, str)
    if not message or len(message) > MAX_MESSAGE_CHARACTERS:
        raise ConfigurationError(f"a message has 1 to {MAX_MESSAGE_CHARACTERS} characters")


def _context(agent: StoredAgent, conversation: Conversation, ctx: RunContext) -> ResolverContext:
    thread = conversation.thread
    return ResolverContext(
        agent_dir=ctx.agent_dir,
        workspace_dir=ctx.workspace_dir,
        thread={"id": str(thread.id), "session": thread.session},
        callbacks=ctx.callbacks,
        agent={"id": str(agent.id), "name": agent.name},
    )


def _mode(ctx: RunContext) -> ExecutionMode:
    return ExecutionMode.SILENT if ctx.silent else ExecutionMode.INTERACTIVE
