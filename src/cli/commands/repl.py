"""`caps repl`: runs cells from a terminal or a pipe in one session, in which variables are kept.

A cell ends at an empty line; if the input begins with `# %%`, only such lines separate the cells.
At a terminal, a first line that opens no block or bracket is a cell by itself. Nothing is parsed
here: the source goes to the worker unchanged.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from caps.cli.commands.run import EXIT_BY_STATUS, print_artifacts, print_result, warn_if_degraded
from caps.cli.exits import ExitCode, fail, report_errors
from caps.cli.options import (
    agent_option,
    announcing_approver,
    approvals_option,
    audit_option,
    audit_settings,
    audit_sink_option,
    policy_option,
    principal_option,
    principal_or_user,
    raw_option,
    registry_option,
    session_option,
    telemetry_options,
)
from caps.cli.signals import exit_on_sigterm
from caps.cli.streams import ProgramOutput
from caps.cli.tool_cards import carded_registry
from caps.protocol.errors import SessionEndedError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from caps.capabilities.runtime.result import ExecutionResult
    from caps.capabilities.runtime.runtime import Runtime
    from caps.capabilities.runtime.sync import SyncSession

_MARK = "# %%"
# Longer than the defaults: a person thinks for longer than an agent.
_MAX_RUNS = 1_000_000
_IDLE_MS = 60 * 60 * 1000
_WALL_MS = 24 * 60 * 60 * 1000


@click.command()
@policy_option
@audit_option
@audit_sink_option
@principal_option
@agent_option
@session_option
@raw_option
@approvals_option
@telemetry_options
@registry_option
def repl(
    policy_paths: tuple[str, ...],
    audit_path: Path | None,
    audit_sinks: tuple[str, ...],
    principal: str | None,
    agent: str | None,
    session: str | None,
    raw: bool,
    directory: Path | None,
    metrics_port: int | None,
    metrics_address: str,
    registry_name: str | None,
) -> None:
    """Run cells from the terminal or a pipe in one session, in which variables are kept.

    An empty line ends a cell; if the input begins with `# %%`, only such lines do. Ctrl-C stops
    the running cell, and variables are kept unless it has to be killed; Ctrl-D leaves. From a
    pipe, all cells are run, and the exit code is that of the first cell that failed.
    """
    from caps.capabilities.runtime.runtime import Runtime
    from caps.cli.telemetry import telemetry

    interactive = sys.stdin is not None and sys.stdin.isatty()
    output = ProgramOutput(raw=raw)
    with report_errors():
        settings = audit_settings(audit_path, audit_sinks)
    with (
        report_errors(),
        exit_on_sigterm(),
        telemetry(metrics_port, metrics_address) as instruments,
        Runtime(
            policy_paths or None,
            registry=carded_registry(registry_name, settings),
            audit=settings,
            approver=announcing_approver(directory),
            **instruments,
        ) as runtime,
    ):
        warn_if_degraded(runtime)
        cells = CellReader(_reader(interactive), typed=interactive)
        prompt = Prompt(runtime, cells, interactive, output)
        prompt.serve(principal_or_user(principal), agent, session)
    output.exit_if_lost()
    sys.exit(ExitCode.OK if interactive else prompt.exit_code)


class Prompt:
    """Runs the cells of a reader, in one session after another."""

    def __init__(
        self, runtime: Runtime, cells: CellReader, interactive: bool, output: ProgramOutput
    ) -> None:
        self.exit_code = ExitCode.OK
        self._output = output
        self._runtime = runtime
        self._cells = cells
        self._interactive = interactive
        self._retried: str | None = None

    def serve(self, principal: str, agent: str | None, name: str | None) -> None:
        """Run cells until the input ends; a session that ended is followed by a new one."""
        more = True
        while more:
            with self._runtime.session_sync(
                principal=principal,
                agent=agent,
                session=name,
                max_runs=_MAX_RUNS,
                idle_ms=_IDLE_MS,
                wall_ms=_WALL_MS,
            ) as session:
                more = self._run_cells(session)

    def _run_cells(self, session: SyncSession) -> bool:
        """Run cells until `session` ends; False if there are no more cells."""
        while session.ended is None:
            try:
                cell = self._next_cell()
            except KeyboardInterrupt:
                if not self._interactive:
                    raise
                click.echo(err=True)  # what was typed so far is dropped
                continue
            if cell is None:
                return False
            self._run(session, cell)
        return True

    def _next_cell(self) -> str | None:
        cell, self._retried = self._retried, None
        return self._cells.next() if cell is None else cell

    def _run(self, session: SyncSession, cell: str) -> None:
        running = session.submit(cell, on_output=self._output)
        try:
            result = self._wait(session, running)
        except SessionEndedError as error:
            click.echo(f"caps: {error.message}", err=True)
            self._retried = cell  # in the next session
            return
        except BaseException:
            running.cancel()
            raise
        if result.note is not None:
            click.echo(f"caps: {result.note}", err=True)
        print_result(result, self._output)
        print_artifacts(result.artifacts, None)
        self.exit_code = self.exit_code or EXIT_BY_STATUS.get(
            result.status.value, ExitCode.HOST_FAILED
        )
        if session.ended is not None:
            click.echo("caps: the session has ended; its variables are lost", err=True)

    def _wait(self, session: SyncSession, running: Future[ExecutionResult]) -> ExecutionResult:
        """The result; at a terminal, Ctrl-C interrupts the cell, which has a moment to stop."""
        while True:
            try:
                return running.result()
            except KeyboardInterrupt:
                if not self._interactive:
                    raise
                session.interrupt()


class CellReader:
    """Splits lines into cells. `read(first)` returns a line, or None at the end of the input."""

    def __init__(self, read: Callable[[bool], str | None], *, typed: bool) -> None:
        self._read = read
        self._typed = typed
        self._marked: bool | None = None

    def next(self) -> str | None:
        """The next cell; None at the end of the input."""
        from caps.protocol.messages import MAX_SOURCE_BYTES

        lines: list[str] = []
        size = 0
        while (line := self._read(not lines)) is not None:
            if self._ends_cell(line):
                if lines:
                    break
                continue
            lines.append(line)
            size += len(line.encode()) + 1
            if size > MAX_SOURCE_BYTES + 1:
                fail(f"a cell is longer than {MAX_SOURCE_BYTES} bytes", ExitCode.BAD_USAGE)
            if self._typed and len(lines) == 1 and _is_complete(line):
                break
        return "\n".join(lines) if lines else None

    def _ends_cell(self, line: str) -> bool:
        is_mark = line.startswith(_MARK)
        if self._marked is None and line.strip():
            self._marked = is_mark
        return is_mark or (not self._marked and not line.strip())


def _is_complete(line: str) -> bool:
    """Whether a first line seems to be a complete cell: it opens no block, bracket or string."""
    text = line.rstrip()
    opened = sum(text.count(mark) for mark in "([{") - sum(text.count(mark) for mark in ")]}")
    quotes = text.count('"""') + text.count("'''")
    return not (text.endswith((":", "\\", ",")) or text.startswith("@") or opened > 0 or quotes % 2)


def _reader(interactive: bool) -> Callable[[bool], str | None]:
    if interactive:
        return _typed_line
    if sys.stdin is None:
        fail("there is no standard input to read", ExitCode.BAD_USAGE)
    return _piped_line


def _typed_line(first: bool) -> str | None:
    import readline  # noqa: F401 - `input` edits lines with it

    try:
        return input(">>> " if first else "... ")
    except EOFError:
        click.echo(err=True)
        return None


def _piped_line(first: bool) -> str | None:  # noqa: ARG001 - no prompt
    from caps.protocol.messages import MAX_SOURCE_BYTES

    # One byte more than a cell may have, so that a longer one is refused.
    line = sys.stdin.buffer.readline(MAX_SOURCE_BYTES + 2)
    try:
        return line.decode("utf-8").rstrip("\r\n") if line else None
    except UnicodeDecodeError as error:
        fail(f"standard input is not UTF-8 text: byte {error.start} of a line", ExitCode.BAD_USAGE)
