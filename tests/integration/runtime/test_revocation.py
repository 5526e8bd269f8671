"""A grant is taken back while the code runs, with real workers."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from prometheus_client import CollectorRegistry

from caps import (
    AuditError,
    CapabilityRegistry,
    ConfigurationError,
    ExecutionResult,
    ExecutionUnknownError,
    MemoryAuditLog,
    Metrics,
    Runtime,
)
from caps.security.audit import (
    AuditEvent,
    CallStatus,
    DecisionMade,
    ExecutionStarted,
    GrantRevoked,
    OutcomeRecorded,
)

pytestmark = pytest.mark.anyio

# Calls `box.wait`, which continues once the test says so, then asks for `box.put`.
TWO_CALLS = """
await caps.box.wait()
try:
    got = await caps.box.put(name='a')
except PolicyDeniedError as error:
    got = error.reason
[got, hasattr(caps.box, 'put')]
"""


@dataclass
class Place:
    """`box.wait` and `box.hang` say that they were called, and `box.put` notes its effects."""

    audit: MemoryAuditLog = field(default_factory=MemoryAuditLog)
    samples: CollectorRegistry = field(default_factory=CollectorRegistry)
    called: anyio.Event = field(default_factory=anyio.Event)
    go_on: anyio.Event = field(default_factory=anyio.Event)
    effects: list[str] = field(default_factory=list)
    results: list[ExecutionResult] = field(default_factory=list)

    @asynccontextmanager
    async def runtime(self) -> AsyncIterator[Runtime]:
        registry = CapabilityRegistry()

        @registry.capability("box.wait")
        async def wait() -> None:
            self.called.set()
            await self.go_on.wait()

        @registry.capability("box.hang")
        async def hang() -> None:
            self.called.set()
            await anyio.sleep_forever()

        @registry.capability("box.put")
        async def put(name: str) -> str:
            self.effects.append(name)
            return name

        async with Runtime(
            {"id": "boxes", "allow": ["box.*"]},
            registry=registry,
            audit=self.audit,
            metrics=Metrics(self.samples),
        ) as runtime:
            yield runtime

    async def keep_result(self, running: Any) -> None:
        self.results.append(await running)

    @property
    def execution_id(self) -> str:
        return str(self.of(ExecutionStarted)[-1].execution_id)

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.audit.events if isinstance(event, kind)]


async def test_a_later_call_is_refused() -> None:
    """The wrapper is still there; the broker says no, and why is on record."""
    place = Place()
    async with place.runtime() as runtime, anyio.create_task_group() as tasks:
        tasks.start_soon(place.keep_result, runtime.run(TWO_CALLS, principal="alice"))
        await place.called.wait()
        taken = await runtime.revoke(place.execution_id, "box.put", by="ada", reason="too many")
        place.go_on.set()
    assert taken == ("box.put",)
    assert place.results[0].unwrap() == ["revoked", True]
    assert place.effects == []
    (revoked,) = place.of(GrantRevoked)
    assert (revoked.execution_id, revoked.principal) == (place.execution_id, "alice")
    assert (revoked.rule, revoked.capabilities) == ("box.put", ["box.put"])
    assert (revoked.by, revoked.note) == ("ada", "too many")
    last = place.of(DecisionMade)[-1]
    assert (last.capability, last.decision, last.reason) == ("box.put", "deny", "revoked")
    labels = {"capability": "box.put"}
    assert place.samples.get_sample_value("caps_grants_revoked_total", labels) == 1


async def test_a_call_in_flight_is_stopped() -> None:
    """The code and the log learn of it, and that its effect is not known."""
    place = Place()
    source = (
        "try:\n    await caps.box.hang()\nexcept PolicyDeniedError as e:\n    got = str(e)\ngot"
    )
    async with place.runtime() as runtime, anyio.create_task_group() as tasks:
        tasks.start_soon(place.keep_result, runtime.run(source))
        await place.called.wait()
        await runtime.revoke(place.execution_id, "box.*")
    message = place.results[0].unwrap()
    assert "it was revoked while the call was made" in message
    assert "whether it had its effect is not known" in message
    (outcome,) = place.of(OutcomeRecorded)
    assert (outcome.status, outcome.reason) == (CallStatus.CANCELLED, "revoked")
    assert place.of(GrantRevoked)[0].capabilities == ["box.hang", "box.put", "box.wait"]


async def test_other_calls_and_other_executions_go_on() -> None:
    """Only what the rule covers is revoked, and only from that execution."""
    place = Place()
    async with place.runtime() as runtime, anyio.create_task_group() as tasks:
        tasks.start_soon(place.keep_result, runtime.run(TWO_CALLS))
        await place.called.wait()
        await runtime.revoke(place.execution_id, "box.hang")
        assert (await runtime.run("await caps.box.put(name='b')")).unwrap() == "b"
        place.go_on.set()
    assert place.results[0].unwrap() == ["a", True]


async def test_it_is_revoked_once() -> None:
    """What was revoked already is not revoked and not recorded again."""
    place = Place()
    async with place.runtime() as runtime, anyio.create_task_group() as tasks:
        tasks.start_soon(place.keep_result, runtime.run(TWO_CALLS))
        await place.called.wait()
        await runtime.revoke(place.execution_id, "box.put")
        assert await runtime.revoke(place.execution_id, "box.put") == ()
        place.go_on.set()
    assert len(place.of(GrantRevoked)) == 1


async def test_no_effect_begins_while_the_decision_is_written() -> None:
    """Revoked between decision and effect, the call is not made; its outcome says so."""

    class Slow(MemoryAuditLog):
        """Delays the record of one decision until the grant is revoked."""

        def __init__(self) -> None:
            super().__init__()
            self.reached, self.go_on = anyio.Event(), anyio.Event()

        async def append(self, event: AuditEvent) -> None:
            await super().append(event)
            if isinstance(event, DecisionMade):
                self.reached.set()
                await self.go_on.wait()

    audit = Slow()
    place = Place(audit=audit)
    source = "try:\n    got = await caps.box.put(name='a')\nexcept PolicyDeniedError as e:\n"
    async with place.runtime() as runtime, anyio.create_task_group() as tasks:
        tasks.start_soon(place.keep_result, runtime.run(source + "    got = e.reason\ngot"))
        await audit.reached.wait()
        await runtime.revoke(place.execution_id, "box.put")
        audit.go_on.set()
    assert place.results[0].unwrap() == "revoked"
    assert place.effects == []
    (outcome,) = place.of(OutcomeRecorded)
    assert (outcome.status, outcome.reason) == (CallStatus.DENIED, "revoked")


async def test_a_session_loses_it_for_good() -> None:
    """By the id of a run or of the session; between runs, too."""
    place = Place()
    put = "try:\n    got = await caps.box.put(name='a')\nexcept PolicyDeniedError as e:\n"
    put += "    got = e.reason\ngot"
    async with place.runtime() as runtime:
        async with runtime.session(principal="alice", session="s-1") as session:
            assert (await session.run(put)).unwrap() == "a"
            assert await runtime.revoke("s-1", "box.put") == ("box.put",)
            assert (await session.run(put)).unwrap() == "revoked"
        async with runtime.session() as session, anyio.create_task_group() as tasks:
            tasks.start_soon(place.keep_result, session.run(TWO_CALLS))
            await place.called.wait()
            await runtime.revoke(place.execution_id, "box.put")
            place.go_on.set()
            await anyio.lowlevel.checkpoint()
        # The group has ended, so the run has; the session was left only then.
        assert place.results[0].unwrap()[0] == "revoked"
        with pytest.raises(ExecutionUnknownError):
            await runtime.revoke("s-1", "box.put")
    between = place.of(GrantRevoked)[0]
    assert (between.session, between.principal) == ("s-1", "alice")


async def test_a_revocation_that_cannot_be_recorded_holds_all_the_same() -> None:
    """The caller learns that the evidence is missing; the grant is revoked."""

    class Failing(MemoryAuditLog):
        async def append(self, event: AuditEvent) -> None:
            if isinstance(event, GrantRevoked):
                raise AuditError("the disk is full")
            await super().append(event)

    place = Place(audit=Failing())
    async with place.runtime() as runtime, anyio.create_task_group() as tasks:
        tasks.start_soon(place.keep_result, runtime.run(TWO_CALLS))
        await place.called.wait()
        with pytest.raises(AuditError):
            await runtime.revoke(place.execution_id, "box.put")
        place.go_on.set()
    assert place.results[0].unwrap()[0] == "revoked"


async def test_what_cannot_be_revoked_says_why() -> None:
    """An execution that ended, one that never was, and a capability that is not there."""
    place = Place()
    async with place.runtime() as runtime, anyio.create_task_group() as tasks:
        ended = await runtime.run("1")
        for execution_id in (ended.execution_id, "no\nsuch", ""):
            with pytest.raises(ExecutionUnknownError, match="is running") as unknown:
                await runtime.revoke(execution_id, "box.put")
            assert len(unknown.value.message.splitlines()) == 1
        tasks.start_soon(place.keep_result, runtime.run(TWO_CALLS))
        await place.called.wait()
        with pytest.raises(ConfigurationError, match=r"did you mean `box\.put`"):
            await runtime.revoke(place.execution_id, "box.putt")
        with pytest.raises(ConfigurationError, match="would match everything"):
            await runtime.revoke(place.execution_id, "*")
        place.go_on.set()
    assert place.results[0].unwrap()[0] == "a"
    assert place.of(GrantRevoked) == []


def test_the_sync_way_in() -> None:
    """From a thread, while another waits for the run."""
    registry, called, go_on = CapabilityRegistry(), threading.Event(), threading.Event()
    ids: list[str] = []

    @registry.capability("box.wait")
    def wait() -> None:
        called.set()
        assert go_on.wait(30)

    @registry.capability("box.put")
    async def put(name: str) -> str:
        return name

    audit = MemoryAuditLog()
    with Runtime({"allow": ["box.*"]}, registry=registry, audit=audit) as runtime:
        running = runtime.submit(TWO_CALLS)
        assert called.wait(30)
        ids += [e.execution_id for e in audit.events if isinstance(e, ExecutionStarted)]
        assert runtime.revoke_sync(ids[0], "box.put") == ("box.put",)
        go_on.set()
        assert running.result().unwrap() == ["revoked", True]
    with pytest.raises(ConfigurationError, match="not open"):
        runtime.revoke_sync(ids[0], "box.put")
