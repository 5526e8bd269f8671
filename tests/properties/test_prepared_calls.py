"""Prepared calls do what the lifecycle does: random calls by both, compared byte by byte."""

from __future__ import annotations

import dataclasses
import functools
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.to_thread
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caps import CapabilityRegistry, MemoryAuditLog
from caps.capabilities.artifacts import Artifact
from caps.capabilities.broker.broker import ExecutionBroker
from caps.capabilities.broker.invoke import outside_task
from caps.capabilities.broker.prepared.together import PreparedBatch
from caps.capabilities.provider import CallContext, Scope, Violation
from caps.capabilities.spec import CapabilitySpec
from caps.capabilities.telemetry.observers import MeteredAudit
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.audit import AuditLog, Durability, VerifyStatus, verify_log
from caps.worker.host.supervisor.interface import CallResponse, RequestBatch
from support.audit_examples import REDACTOR, segment_of
from support.broker_setup import BrokerSetup, answer_batch, answer_read
from support.hypothesis_examples import examples
from support.log_comparison import counted, lines

EXAMPLES = examples(80)

WORDS = st.one_of(
    st.sampled_from(["a", "b", "label", "mark", "file", "bad", "broken", "odd", "fence", "é\0\\"]),
    st.text(max_size=6),
    st.just("long" * 300),
)
NUMBERS = st.one_of(st.integers(-3, 3), st.just(2**53), st.just(-(2**60)), st.floats(0, 1))
PAYLOADS = st.one_of(
    st.fixed_dictionaries({"word": WORDS}),
    st.fixed_dictionaries({"word": WORDS, "more": NUMBERS}),
    st.fixed_dictionaries({"word": WORDS, "more": st.none(), "deep": st.lists(WORDS, max_size=2)}),
    st.just({"word": 5}),
    st.just({}),
    st.just({"word": "a", "ünknown": 1}),
)
OPTIONS = st.one_of(
    st.just({}),
    st.just({}),
    st.just({}),
    st.sampled_from([{"idempotency_key": "k"}, {"timeout_ms": 7}, {"request_id": 'o"dd'}]),
)
CALLS = st.tuples(
    st.sampled_from(
        ["box.take", "box.take", "box.take", "box.shows", "shelf.take", "box.slow", "shelf.none"]
    ),
    PAYLOADS,
    OPTIONS,
)
# What a worker sends in one write, and now and then something that the host does.
PROGRAMS = st.lists(
    st.one_of(
        st.lists(CALLS, min_size=1, max_size=4),
        st.lists(CALLS, min_size=1, max_size=1),
        st.lists(CALLS, min_size=1, max_size=1),
        st.sampled_from(["revoke", "deadline", "uncard", "checkpoint", "answered"]),
    ),
    min_size=3,
    max_size=14,
)
POLICIES = st.fixed_dictionaries(
    {
        "allow": st.sampled_from([["box.*", "shelf.*"], ["box.*", "shelf.*"], ["box.take"]]),
        "scopes": st.just({"shelf": {"fence": "fence", "marked": "mark"}}),
        "deny": st.sampled_from([[], [], ["box.shows"], [{"rule": "box.take", "mode": "dry_run"}]]),
        "limits": st.sampled_from(
            [{}, {}, {"calls": 5}, {"rates": {"box.take": "2/min"}}, {"concurrency": 2}]
        ),
        "flows": st.sampled_from(
            [[], [], [{"id": "f", "after": ["private"], "deny": ["box.take"]}]]
        ),
    }
)


class ShelfScope(Scope):
    """Forbids some words, and labels what is read by others."""

    fence: str = ""
    marked: str = ""

    def violation(self, function: str, payload: Mapping[str, Any]) -> Violation | None:
        """By the word; one of them makes the rule itself fail."""
        if payload["word"] == "broken":
            raise ZeroDivisionError
        found = payload["word"] == self.fence
        return Violation("fence", f"{function} of a fence") if found else None

    def labels_for(self, function: str, payload: Mapping[str, Any]) -> frozenset[str]:
        """The same."""
        return frozenset({"private"} if payload["word"] == self.marked else ())


SCHEMA = {
    "type": "object",
    "properties": {"word": {"type": "string"}, "more": {}, "deep": {}},
    "required": ["word"],
    "additionalProperties": False,
}


def add_functions(setup: BrokerSetup) -> None:
    """Providers that give, fail, label and hand out, as the word says."""

    async def take(context: CallContext, payload: Any) -> Any:
        word = payload["word"]
        setup.called.append((context.request_id, word, context.labels, context.timeout_ms))
        if word == "label":
            context.add_labels("private")
        elif word == "file":
            content = context.request_id.encode()
            context.add_artifact(Artifact(name="a.txt", media_type="text/plain", content=content))
        elif word == "bad":
            raise ValueError(word)
        return {1: word} if word == "odd" else {"word": word, "more": payload.get("more")}

    setup.registry.domain("shelf", scope=ShelfScope)
    for name, shown in (("box.take", ()), ("box.shows", ("word", "more")), ("shelf.take", ())):
        setup.registry.register(CapabilitySpec(name=name, schema_in=SCHEMA, shown=shown), take)


def opened(directory: Path, policy: dict[str, Any]) -> tuple[AuditLog, BrokerSetup]:
    """A log on disk, and a broker that writes to it as that of a runtime does."""
    log = AuditLog.open(directory, durability=Durability.OS, checkpoint_every=1000)
    setup = BrokerSetup(cast("MemoryAuditLog", log))
    audit = MeteredAudit(log, setup.broker.metrics)
    audit.redactor = REDACTOR  # so that equal values have equal digests
    setup.broker = dataclasses.replace(setup.broker, audit=audit)
    add_functions(setup)
    setup.policy = policy
    return log, setup


async def played(directory: Path, program: list[Any], policy: dict[str, Any], on: bool) -> Any:
    """The answers, records and metrics of `program`, and the state after it."""
    log, setup = opened(directory, policy)
    calls, responses = setup.execution("e2"), []
    calls._prepared._is_on &= on
    for turn, step in enumerate(program):
        if isinstance(step, list):
            requests = [request(turn, place, *one) for place, one in enumerate(step)]
            found = await (answer_read if on else answer_batch)(calls, requests)
            for asked, answer in zip(requests, found, strict=True):
                responses.append(plain(answer or await calls.answer(asked)))
        elif step == "checkpoint":
            await anyio.to_thread.run_sync(log._writer.pin)
        else:
            change(calls, step)
    await log.aclose()
    assert verify_log(directory).status is VerifyStatus.OK
    used = (calls.meter.calls, calls.meter._in_flight, calls.flow.answered)
    told = (setup.called, calls.evidence.decisions, used, calls.artifacts.artifacts)
    return responses, lines(directory), counted(setup), told


def change(calls: ExecutionBroker, step: str) -> None:
    """What the host does between two reads."""
    if step == "revoke":
        calls.revoke(frozenset({"box.take"}))
    elif step == "deadline":
        calls.meter._deadline = -1.0
    elif step == "uncard":
        calls.grant = dataclasses.replace(calls.grant, uncarded=frozenset({"box.take"}))
    else:
        calls.flow.add("shelf.take", frozenset({"private"}))


def request(
    turn: int, place: int, capability: str, payload: dict[str, Any], options: dict[str, Any]
) -> CapabilityRequestMessage:
    return CapabilityRequestMessage(
        id=f"e2:{turn}-{place}",
        timestamp=0.0,
        capability=capability,
        payload=payload,
        **{"request_id": f"r{turn}x{place}", **options},
    )


def plain(response: CallResponse) -> Any:
    result = response.result
    value = msgspec.msgpack.decode(result) if isinstance(result, msgspec.Raw) else result
    return value, response.failure


@EXAMPLES
@given(PROGRAMS, POLICIES)
def test_prepared_calls_leave_the_same_as_the_lifecycle(
    program: list[Any], policy: dict[str, Any]
) -> None:
    """The same answers, the same bytes in the log, the same metrics, the same state."""

    async def both() -> None:
        with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
            general = await played(Path(first), program, policy, False)
            assert await played(Path(second), program, policy, True) == general

    anyio.run(both)


def test_calls_are_really_prepared(tmp_path: Path) -> None:
    """Else the property compares the lifecycle with itself."""

    async def one() -> None:
        log, setup = opened(tmp_path, {})
        calls = setup.execution("e2")
        kinds = []
        for turn in range(4):
            batch = calls.begin_batch([request(turn, 0, "box.take", {"word": "a"}, {})])
            assert batch.step_sync()
            kinds.append(isinstance(batch, PreparedBatch) and batch._general is None)
            batch.close()
        assert kinds == [True, True, True, True]
        kept: list[RequestBatch] = []
        for turn in range(4, 8):
            alone = request(turn, 0, "box.take", {"word": "a"}, {})
            answer = outside_task(functools.partial(calls.answer_one, alone, kept.append))
            assert answer is not None
        assert not kept  # none of them needed a batch
        await log.aclose()

    anyio.run(one)


def test_each_execution_has_its_own_records(tmp_path: Path) -> None:
    """The texts are cut out once for all of them; an id that would be escaped has none."""

    async def by(directory: Path, on: bool) -> list[bytes]:
        log, setup = opened(directory, {})
        for turn, name in enumerate(("e2", "e3", "e2", 'e"4')):
            calls = setup.execution(name)
            calls._prepared._is_on &= on
            found = await answer_batch(calls, [request(turn, 0, "box.take", {"word": "a"}, {})])
            assert found[0] is not None
            assert found[0].failure is None
        await log.aclose()
        return lines(directory)

    async def both() -> None:
        general = await by(tmp_path / "general", False)
        assert await by(tmp_path / "prepared", True) == general
        for line, name in zip(
            general, ("e2", "e2", "e3", "e3", "e2", "e2", r"e\"4", r"e\"4"), strict=True
        ):
            assert f'"execution_id":"{name}"'.encode() in line

    anyio.run(both)


@pytest.mark.parametrize("answer", [answer_batch, answer_read])
def test_a_log_that_fails_at_the_first_call_leaves_no_effect(tmp_path: Path, answer: Any) -> None:
    """The first call is prepared: without its decision in the log, its provider is not called."""

    async def one() -> None:
        log, setup = opened(tmp_path, {})
        calls = setup.execution("e2")
        segment_of(tmp_path).rename(tmp_path / "elsewhere")
        found = await answer(calls, [request(0, 0, "box.take", {"word": "a"}, {})])
        assert found[0] is not None
        assert found[0].failure is not None
        assert found[0].failure.code == "audit_error"
        assert setup.called == []
        (tmp_path / "elsewhere").rename(segment_of(tmp_path))
        await log.aclose()

    anyio.run(one)


def test_calls_have_the_labels_of_when_their_requests_were_received(tmp_path: Path) -> None:
    """Also if an earlier call of the batch fails and the lifecycle takes the others."""

    async def by(directory: Path, on: bool) -> list[Any]:
        log, setup = opened(directory, {})
        calls = setup.execution("e2")
        calls._prepared._is_on &= on

        class Marking(list[Any]):
            def append(self, called: Any) -> None:
                super().append(called)
                calls.flow.add_marks({"private"})

        setup.called = Marking()
        words = ("a", "bad", "c")
        await answer_batch(
            calls, [request(0, i, "box.take", {"word": w}, {}) for i, w in enumerate(words)]
        )
        await log.aclose()
        return [*setup.called]

    async def both() -> None:
        general = await by(tmp_path / "general", False)
        assert len(general) == 3
        assert await by(tmp_path / "prepared", True) == general

    anyio.run(both)


def test_what_wraps_a_derived_provider_is_what_is_called(tmp_path: Path) -> None:
    """A copy of its attributes does not make the wrapper the same function."""

    async def by(directory: Path, on: bool) -> list[Any]:
        log, setup = opened(directory, {"allow": ["box.*"]})
        own = CapabilityRegistry()

        @own.capability("box.twice")
        async def twice(number: int) -> int:
            return 2 * number

        derived = own.capabilities["box.twice"]

        @functools.wraps(derived.provider)
        async def masking(context: CallContext, payload: Any) -> Any:
            coroutine: Any = derived.provider(context, payload)
            try:
                coroutine.send(None)
            except StopIteration as stop:
                return -stop.value
            raise AssertionError

        setup.registry.register(derived.spec, masking)
        calls = setup.execution("e2")
        calls._prepared._is_on &= on
        asked = [request(0, 0, "box.twice", {"number": 3}, {})]
        [found] = await (answer_read if on else answer_batch)(calls, asked)
        assert found is not None
        await log.aclose()
        return [plain(found), *lines(directory)]

    async def both() -> None:
        general = await by(tmp_path / "general", False)
        assert general[0] == (-6, None)
        assert await by(tmp_path / "prepared", True) == general

    anyio.run(both)
