"""The prepared records of an execution are those of the general encoder: compared byte by byte."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.to_thread
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caps import MemoryAuditLog
from caps.capabilities.identity import Identity
from caps.capabilities.runtime.execution import run_execution
from caps.capabilities.runtime.execution_request import ExecutionRequest
from caps.capabilities.runtime.inputs import encode_inputs
from caps.capabilities.runtime.recording.texts import ENDED, STARTED
from caps.capabilities.telemetry.observers import MeteredAudit
from caps.protocol.enforcement import Layer
from caps.protocol.errors import AuditError, LimitExceededError, WorkerLostError
from caps.protocol.messages import ErrorReport, ResultMessage
from caps.protocol.values import encode_value
from caps.security.audit import AuditLog, Durability, VerifyStatus, verify_log
from caps.security.audit.log.segment import Segment
from caps.worker.host.process.worker import ResourceUsage
from caps.worker.host.supervisor.interface import CallHandler, Job, OutputHandler
from support.audit_examples import REDACTOR
from support.broker_setup import BrokerSetup
from support.hypothesis_examples import examples
from support.log_comparison import counted, lines

EXAMPLES = examples(80)
KINDS = (STARTED, ENDED)

TEXTS = st.one_of(
    st.sampled_from(["ada", "a b:c@d.e/f", 'quo"ted', "back\\slash", "", "é", "tab\t", "\0", "%s"]),
    st.text(max_size=6),
    st.just("long" * 300),
    st.just("x" * 1024),
)
IDS = st.sampled_from(["e1", "e2", "0" * 32, "f" * 64, "a" * 65, 'e"3', "é", "e-4"])
IDENTITIES = st.builds(
    Identity,
    principal=TEXTS,
    agent=st.one_of(st.none(), TEXTS),
    session=st.one_of(st.none(), st.none(), TEXTS),
    via=st.sampled_from(["code", "code", "mcp"]),
)
POLICIES = st.sampled_from(
    [
        {},
        {"deny": ["box.slow"]},
        {"allow": []},
        {"limits": {"calls": 3}},
        [{}, {"id": "second", "allow": []}],
    ]
)
USED = st.one_of(
    st.none(),
    st.builds(
        ResourceUsage,
        cpu_us=st.integers(0, 2**40),
        max_rss_kb=st.one_of(st.none(), st.integers(0, 2**40)),
    ),
)
ENDINGS = st.sampled_from(["value", "value", "value", "error", "lost", "limit", "garbage"])
RUNS = st.fixed_dictionaries(
    {
        "execution_id": IDS,
        "identity": IDENTITIES,
        "policy": POLICIES,
        "source": st.sampled_from(["1", "", "x = 'é'", "\ud800"]),
        "inputs": st.sampled_from([None, None, None, {}, {"n": 1}]),
        "degraded": st.sampled_from([None, None, "seccomp absent"]),
        "isolation": st.sampled_from(
            [(), (("seccomp", "fully"),), (("seccomp", "fully"), ("memory", "partly"))]
        ),
        "learning": st.booleans(),
        "used": USED,
        "ending": ENDINGS,
        "output": st.sampled_from(["", "", "printed é"]),
        "checkpoint": st.booleans(),
    }
)


class Runner:
    """In place of a worker: ends the job as the run says."""

    layers: tuple[Layer, ...] = ()

    def __init__(self, run: Mapping[str, Any]) -> None:
        self._run = run

    async def run(self, job: Job, calls: CallHandler, on_output: OutputHandler) -> ResultMessage:
        calls.begin()
        if self._run["output"]:
            on_output(self._run["output"])
        calls.end(self._run["used"])
        match self._run["ending"]:
            case "lost":
                raise WorkerLostError("the worker was lost", started=True)
            case "limit":
                raise LimitExceededError("too much", limit="wall_ms", allowed=5)
            case "error":
                error = ErrorReport(code="code_error", type="ValueError", message=job.source)
                return ResultMessage(id="e:2", timestamp=0.0, error=error)
            case "garbage":
                return ResultMessage(id="e:2", timestamp=0.0, value=b"\xc1")
            case _:
                value = encode_value(job.source, max_bytes=1000)
                return ResultMessage(id="e:2", timestamp=0.0, value=value)


async def played(directory: Path, runs: list[dict[str, Any]], on: bool) -> Any:
    """The results, records and metrics of these executions."""
    log = AuditLog.open(directory, durability=Durability.OS, checkpoint_every=1000)
    setup = BrokerSetup(cast("MemoryAuditLog", log))
    audit = MeteredAudit(log, setup.broker.metrics)
    audit.redactor = REDACTOR
    audit.takes_encoded &= on
    services = dataclasses.replace(setup.broker, audit=audit)
    results = []
    for run in runs:
        if run["checkpoint"]:
            await anyio.to_thread.run_sync(log._writer.pin)
        policies = run["policy"] if isinstance(run["policy"], list) else [run["policy"]]
        given = [{"id": "test", "allow": ["box.*"], **policy} for policy in policies]
        grant = setup.registry.inject("caps", run["execution_id"], given)
        request = ExecutionRequest(
            source=run["source"],
            filename="<agent>",
            identity=run["identity"],
            on_output=None,
            inputs=encode_inputs(run["inputs"], "caps", REDACTOR),
        )
        result = await run_execution(
            services,
            Runner(run),
            dataclasses.replace(grant, learning=run["learning"]),
            request,
            degraded=run["degraded"],
            isolation=run["isolation"],
        )
        usage = dataclasses.replace(result.usage, duration_ms=0)
        results.append(dataclasses.replace(result, usage=usage))
    await log.aclose()
    assert verify_log(directory).status is VerifyStatus.OK
    return results, lines(directory), counted(setup)


@EXAMPLES
@given(st.lists(RUNS, min_size=1, max_size=5))
def test_prepared_records_are_those_of_the_events(runs: list[dict[str, Any]]) -> None:
    """The same results, the same bytes in the log, the same metrics."""

    async def both() -> None:
        with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
            general = await played(Path(first), runs, False)
            assert await played(Path(second), runs, True) == general

    anyio.run(both)


USUAL: dict[str, Any] = {
    "execution_id": "e1",
    "identity": Identity(session="s-1"),
    "policy": {},
    "source": "1",
    "inputs": None,
    "degraded": None,
    "isolation": (("seccomp", "fully"),),
    "learning": False,
    "used": ResourceUsage(cpu_us=5, max_rss_kb=None),
    "ending": "value",
    "output": "",
    "checkpoint": True,
}


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds of the records that are committed as text."""
    kinds: list[str] = []
    insert = Segment.insert_signed_seq

    def noted(segment: Segment, records: Any, kind: str) -> Any:
        kinds.append(kind)
        return insert(segment, records, kind)

    monkeypatch.setattr(Segment, "insert_signed_seq", noted)
    return kinds


def test_both_records_are_really_prepared(tmp_path: Path, encoded: list[str]) -> None:
    """Else the property compares the events with themselves."""

    async def some() -> None:
        used = ResourceUsage(cpu_us=5, max_rss_kb=7)
        others = [{**USUAL, "identity": one} for one in (Identity(), Identity(agent="helper"))]
        runs = [USUAL, {**USUAL, "used": used}, *others]
        _, found, _ = await played(tmp_path, runs, True)
        assert all(b'"signed_seq":' in line for line in found)

    anyio.run(some)
    assert encoded == [*KINDS] * 4


@pytest.mark.parametrize("fails_at", KINDS)
def test_an_execution_whose_record_cannot_be_written_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: str
) -> None:
    """As with the event: without the start nothing runs, without the end there is no value."""
    ran: list[str] = []
    insert, run = Segment.insert_signed_seq, Runner.run

    def failing(segment: Segment, records: Any, kind: str) -> Any:
        if kind == fails_at:
            raise AuditError("the disk is full")
        return insert(segment, records, kind)

    async def noted(self: Runner, job: Job, *others: Any) -> ResultMessage:
        ran.append(job.source)
        return await run(self, job, *others)

    monkeypatch.setattr(Segment, "insert_signed_seq", failing)
    monkeypatch.setattr(Runner, "run", noted)

    async def one() -> None:
        [result], _, _ = await played(tmp_path, [USUAL], True)
        assert result.error is not None
        assert result.error.code == "audit_error"
        assert result.value is None
        assert ran == ([] if fails_at == STARTED else ["1"])

    anyio.run(one)


class Interrupted(BaseException):
    """An interrupt of the host."""


@pytest.mark.parametrize("at", KINDS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupt_at_a_prepared_record_leaves_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, when: str
) -> None:
    """Whether it came before the write or just after it."""
    append, left = AuditLog.append_encoded, [at]

    def interrupting(log: AuditLog, records: Any, kind: str) -> bool:
        if kind in left:
            left.clear()
            if when == "after":
                append(log, records, kind)
            raise Interrupted
        return append(log, records, kind)

    monkeypatch.setattr(AuditLog, "append_encoded", interrupting)

    async def one() -> None:
        with pytest.raises(Interrupted):
            await played(tmp_path, [USUAL], True)
        found = lines(tmp_path)
        assert len(found) == 2
        assert all(
            f'"kind":"{kind}"'.encode() in line for kind, line in zip(KINDS, found, strict=True)
        )

    anyio.run(one)
