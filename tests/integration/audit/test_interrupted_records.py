"""Ctrl-C within the write of a record: each is written once, and none is missing."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import pytest

from caps import AuditError, CapabilityRegistry, Durability, MemoryAuditLog, Runtime
from caps.capabilities.broker.evidence import CallEvidence
from caps.capabilities.broker.prepared.preparation import PreparedCalls
from caps.capabilities.broker.prepared.records import RecordTexts
from caps.security.audit import AuditLog, read_records
from caps.security.audit.log.segment import Segment

BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])
effects: list[str] = []
registry = CapabilityRegistry()


@registry.capability("host.now")
async def now() -> str:
    """Has its effect immediately."""
    effects.append("now")
    return "done"


@registry.capability("host.interrupted")
async def interrupted() -> str:
    """Has its effect, and is interrupted while it waits."""
    effects.append("interrupted")
    await anyio.lowlevel.checkpoint()
    raise KeyboardInterrupt


def ended(place: Path, backend: str, source: str) -> Counter[str]:
    """How often each kind of record is in the log of a run that an interrupt ended."""
    effects.clear()

    async def main() -> None:
        log = AuditLog.open(place, durability=Durability.OS)
        async with Runtime({"allow": ["host.*"]}, registry=registry, audit=log) as runtime:
            await runtime.run(source)

    with pytest.raises(BaseException) as raised:
        anyio.run(main, backend=backend)
    found: BaseException = raised.value
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    assert isinstance(found, KeyboardInterrupt)
    return Counter(type(record.event).__name__ for record in read_records(place))


@BACKENDS
@pytest.mark.parametrize("after", [False, True], ids=["before the write", "after the write"])
@pytest.mark.parametrize("kind", ["execution_started", "outcome", "execution_ended"])
def test_what_was_being_written_is_on_record_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, kind: str, after: bool
) -> None:
    """Of the first call as of every other."""
    write, left = Segment._write, [1]

    def interrupting(self: Segment, data: bytes) -> None:
        strikes = f'"kind":"{kind}'.encode() in data and left.pop() if left else False
        if not strikes or after:
            write(self, data)
        if strikes:
            raise KeyboardInterrupt

    monkeypatch.setattr(Segment, "_write", interrupting)
    found = ended(tmp_path / "log", backend, "await caps.host.now()")
    assert found["ExecutionStarted"] == found["ExecutionEnded"] == 1
    assert found["DecisionMade"] == found["OutcomeRecorded"] == len(effects)


@BACKENDS
@pytest.mark.parametrize(
    ("kind", "event"),
    [("execution_started", "ExecutionStarted"), ("execution_ended", "ExecutionEnded")],
)
def test_a_log_that_fails_too_does_not_hide_the_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, kind: str, event: str
) -> None:
    """The program ends with it anyway."""
    write, left = Segment._write, [1]

    def interrupting(self: Segment, data: bytes) -> None:
        if f'"kind":"{kind}'.encode() in data:
            if left:
                left.clear()
                raise KeyboardInterrupt
            raise AuditError("the disk is full")
        write(self, data)

    monkeypatch.setattr(Segment, "_write", interrupting)
    assert ended(tmp_path / "log", backend, "1")[event] == 0


@BACKENDS
@pytest.mark.parametrize("made_by", [RecordTexts, CallEvidence], ids=["prepared", "lifecycle"])
def test_no_outcome_stands_without_its_decision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, made_by: type[Any]
) -> None:
    """An interrupt while the decisions of several calls are prepared: no call is made."""
    decided, left = made_by.decision_record, [3]

    def interrupting(self: Any, *args: Any) -> Any:
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        return decided(self, *args)

    if made_by is CallEvidence:
        monkeypatch.setattr(PreparedCalls, "_find", lambda *args: None)
    monkeypatch.setattr(made_by, "decision_record", interrupting)
    many = "await asyncio.gather(*[caps.host.now() for _ in range(3)])"
    source = f"import asyncio\nawait caps.host.now()\n{many}"
    found = ended(tmp_path / "log", backend, source)
    assert found["DecisionMade"] == found["OutcomeRecorded"] == len(effects) == 1


@BACKENDS
def test_a_provider_that_is_interrupted_leaves_an_outcome(tmp_path: Path, backend: str) -> None:
    """Its effect may have begun."""
    found = ended(tmp_path / "log", backend, "await caps.host.interrupted()")
    assert effects == ["interrupted"]
    assert found["DecisionMade"] == found["OutcomeRecorded"] == 1


@pytest.mark.parametrize("calls", ["", "await caps.host.now()\n"], ids=["first", "later"])
@pytest.mark.parametrize("error", [StopIteration, asyncio.CancelledError, GeneratorExit, KeyError])
def test_what_a_listener_raises_ends_its_execution(error: type[BaseException], calls: str) -> None:
    """Whatever it is, and before the first call as after it; no limit has to be waited for."""

    def listen(_text: str) -> Any:
        raise error

    async def main() -> None:
        policy = {"allow": ["host.*"], "limits": {"wall_ms": 60_000}}
        async with Runtime(policy, registry=registry, audit=MemoryAuditLog()) as runtime:
            await runtime.run(f"{calls}print(1)\nwhile True: pass", on_output=listen)

    with pytest.raises(BaseException) as raised:
        anyio.run(main)
    found: BaseException = raised.value
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    assert isinstance(found, error) or isinstance(found.__cause__, error)
