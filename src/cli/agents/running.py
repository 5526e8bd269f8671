"""What `run` and `chat` share: their options, the engine, and a runner in an open runtime."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from uuid import UUID

import click

from caps.cli.agents.stored import find_agent
from caps.cli.exits import ExitCode, fail
from caps.cli.input_files import read_input
from caps.cli.options import (
    announcing_approver,
    approvals_option,
    audit_option,
    audit_settings,
    audit_sink_option,
    policy_option,
    principal_option,
    principal_or_user,
    registry_option,
    session_option,
    store_option,
)
from caps.cli.tool_cards import carded_registry
from caps.protocol.text import printable

if TYPE_CHECKING:
    from caps.agents.runner.engine import Engine
    from caps.agents.runner.model import RunContext, RunLimits, RunResult
    from caps.agents.runner.runner import AgentRunner
    from caps.capabilities.registry import CapabilityRegistry
    from caps.security.audit import AuditSettings
    from caps.store.repositories.agents import StoredAgent

_Command = TypeVar("_Command", bound=Callable[..., Any])

MAX_SCRIPT_BYTES = 1024 * 1024

EXIT_BY_STATUS = {
    "answered": ExitCode.OK,
    "turn_limit": ExitCode.LIMIT,
    "token_limit": ExitCode.LIMIT,
    "tool_call_limit": ExitCode.LIMIT,
    "time_limit": ExitCode.LIMIT,
    "failed": ExitCode.HOST_FAILED,
}

_OPTIONS = (
    click.option("--model", help="The model, as Pydantic AI names it, such as `openai:gpt-5.2`."),
    click.option("--script", metavar="FILE", help="Follow a script instead of asking a model."),
    click.option("--code", is_flag=True, help="The model writes code; it gets no other tools."),
    click.option("--thread", metavar="ID", help="The thread to continue; by default a new one."),
    click.option("--max-turns", type=click.IntRange(1, 10_000), default=30, show_default=True),
    click.option(
        "--timeout-ms",
        type=click.IntRange(1, 24 * 60 * 60 * 1000),
        default=10 * 60 * 1000,
        show_default=True,
        help="The longest that one answer may take.",
    ),
    policy_option,
    audit_option,
    audit_sink_option,
    principal_option,
    session_option,
    approvals_option,
    registry_option,
    store_option,
)


class RunOptions(NamedTuple):
    """The values of the options; the names are those of click."""

    model: str | None
    script: str | None
    code: bool
    thread: str | None
    max_turns: int
    timeout_ms: int
    policy_paths: tuple[str, ...]
    audit_path: Path | None
    audit_sinks: tuple[str, ...]
    principal: str | None
    session: str | None
    directory: Path | None
    registry_name: str | None
    url: str | None


def run_options(command: _Command) -> _Command:
    """All of them, in this order."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


class Prepared(NamedTuple):
    """What is loaded before the runtime opens."""

    agent: StoredAgent
    engine: Engine
    registry: CapabilityRegistry
    audit: AuditSettings
    options: RunOptions

    def context(self, *, thread: UUID | None, silent: bool = False) -> RunContext:
        from caps.agents.runner.model import CallMode, RunContext

        return RunContext(
            principal=principal_or_user(self.options.principal),
            thread=thread,
            session=self.options.session,
            mode=CallMode.CODE if self.options.code else CallMode.TOOLS,
            silent=silent,
            workspace_dir=str(Path.cwd()),
            limits=self._limits(),
        )

    def _limits(self) -> RunLimits:
        from caps.agents.runner.model import RunLimits

        return RunLimits(max_turns=self.options.max_turns, wall_ms=self.options.timeout_ms)

    def thread(self) -> UUID | None:
        """The thread of the option; ends the command if it is not an id."""
        given = self.options.thread
        try:
            return None if given is None else UUID(given)
        except ValueError:
            fail(f"`{printable(str(given), 80)}` is not the id of a thread", ExitCode.BAD_USAGE)


def prepare(agent: str, options: RunOptions) -> Prepared:
    """Ends the command at what cannot work. Raises CapsErrors."""
    audit = audit_settings(options.audit_path, options.audit_sinks)
    return Prepared(
        engine=_engine(options),
        agent=find_agent(options.url, agent),
        registry=carded_registry(options.registry_name, audit),
        audit=audit,
        options=options,
    )


def _engine(options: RunOptions) -> Engine:
    if (options.model is None) == (options.script is None):
        fail("give `--model`, or `--script` to do without one", ExitCode.BAD_USAGE)
    if options.model is not None:
        from caps.agents.runner.pydantic_ai_engine import PydanticAiEngine, require_pydantic_ai

        require_pydantic_ai()
        return PydanticAiEngine(options.model)
    from caps.agents.runner.scripted_engine import ScriptedEngine, read_script

    assert options.script is not None
    data = read_input(options.script, MAX_SCRIPT_BYTES)
    if len(data) > MAX_SCRIPT_BYTES:
        fail(f"a script has at most {MAX_SCRIPT_BYTES} bytes", ExitCode.BAD_USAGE)
    return ScriptedEngine(read_script(data))


@asynccontextmanager
async def open_runner(prepared: Prepared) -> AsyncIterator[AgentRunner]:
    """A runner in a runtime of its own. Raises CapsErrors."""
    from caps.agents.runner.runner import AgentRunner
    from caps.capabilities.runtime.runtime import Runtime
    from caps.cli.commands.run import warn_if_degraded
    from caps.store import open_store

    options = prepared.options
    async with (
        open_store(options.url) as store,
        Runtime(
            options.policy_paths or None,
            registry=prepared.registry,
            audit=prepared.audit,
            approver=announcing_approver(options.directory),
        ) as runtime,
    ):
        warn_if_degraded(runtime)
        yield AgentRunner(runtime, prepared.engine, store=store)


def complain(result: RunResult) -> None:
    """What the user should know in addition to the answer, on standard error."""
    for each in result.notifications:
        click.echo(f"caps: the agent says: {printable(each, 4000)}", err=True)
    for each in result.warnings:
        click.echo(f"caps: warning: {printable(each, 400)}", err=True)
    if result.withheld:
        names = ", ".join(f"`{each}`" for each in result.withheld)
        click.echo(f"caps: warning: the policy does not allow the tools {names}", err=True)
    if not result.ok:
        why = result.error or f"the run ended without an answer: {result.status.value}"
        click.echo(f"caps: {printable(why, 400)}", err=True)
