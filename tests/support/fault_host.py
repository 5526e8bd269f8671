"""A runtime with a real provider that writes files, and a fault that occurs between two calls.

The code writes a file, calls a capability of the host that causes the fault (so the outcome of that
call cannot be recorded either), and tries to write another file. Tests check whether the second one
exists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from caps import Runtime, builtin_registry
from caps.capabilities.runtime.result import ExecutionResult
from caps.security.audit import (
    AuditLog,
    AuditSettings,
    DecisionMade,
    OutcomeRecorded,
    VerifyStatus,
    read_records,
    verify_log,
)

PROGRAM = """
await caps.files.write(path="before.txt", content="x")
try:
    await caps.host.fault()
except Exception:
    pass
try:
    await caps.files.write(path="after.txt", content="x")
except Exception as error:
    print("refused", end="")
"""
WRITE = "await caps.files.write(path={name!r}, content='x')"


@dataclass
class FaultHost:
    """The directory of the written files and of the log, and the function that causes the fault."""

    place: Path
    fault: Callable[[], None] = lambda: None
    principal: str = "anonymous"

    @property
    def log(self) -> Path:
        return self.place / "log"

    @property
    def files(self) -> set[str]:
        """The names of the files that the provider wrote."""
        return {path.name for path in (self.place / "files").iterdir()}

    @contextmanager
    def open_runtime(self, *sinks: str, **settings: object) -> Iterator[Runtime]:
        (self.place / "files").mkdir(exist_ok=True)
        registry = builtin_registry()

        @registry.capability("host.fault")
        async def fault() -> None:
            self.fault()

        policy = {
            "allow": ["files.write", "host.fault"],
            "scopes": {"files": {"allowlist": [str(self.place / "files")], "read_only": False}},
        }
        kept = AuditSettings(directory=self.log, **settings).with_sinks(sinks)  # type: ignore[arg-type]
        with Runtime(policy, registry=registry, audit=kept) as runtime:
            yield runtime

    def run_with_fault(self, runtime: Runtime) -> ExecutionResult:
        """Run the program: one write, the fault, another write."""
        return runtime.run_sync(PROGRAM, principal=self.principal)

    def recorded_writes(self) -> set[str]:
        """The files that decisions on record allowed to write."""
        return recorded_writes(self.log)


def recorded_writes(directory: Path) -> set[str]:
    """The paths of the allowed writes in a log."""
    events = (record.event for record in read_records(directory))
    return {
        str(event.shown["path"])
        for event in events
        if isinstance(event, DecisionMade) and event.capability == "files.write"
    }


def without_outcome(directory: Path) -> set[str]:
    """The requests in a log that were allowed and have no outcome."""
    events = [record.event for record in read_records(directory)]
    ended = {event.request_id for event in events if isinstance(event, OutcomeRecorded)}
    return {
        event.request_id
        for event in events
        if isinstance(event, DecisionMade) and event.decision == "allow"
    } - ended


def not_begun(directory: Path) -> set[str]:
    """The paths of the allowed writes whose outcome in a log says that they were not begun."""
    events = [record.event for record in read_records(directory)]
    given_up = {
        event.request_id
        for event in events
        if isinstance(event, OutcomeRecorded) and event.detail == "it was not begun"
    }
    return {
        str(event.shown["path"])
        for event in events
        if isinstance(event, DecisionMade) and event.request_id in given_up
    }


def status_after_reopening(directory: Path) -> VerifyStatus:
    """The status of the log after it was opened again, as after a restart."""
    AuditLog.open(directory).close()
    return verify_log(directory).status
