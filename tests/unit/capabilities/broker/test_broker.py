"""The reference monitor: driven directly, with real providers and the audit log in memory."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.to_thread
import msgspec
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from prometheus_client import CollectorRegistry

from caps.capabilities.broker.approvals import ApprovalQueue
from caps.capabilities.broker.broker import ExecutionBroker
from caps.capabilities.broker.services import BrokerServices
from caps.capabilities.identity import Identity
from caps.capabilities.provider import CallContext, ProviderError, Scope, ScopeViolationError
from caps.capabilities.registry import CapabilityRegistry
from caps.capabilities.spec import CapabilitySpec
from caps.capabilities.telemetry import UNREGISTERED, Metrics, Tracing
from caps.protocol.errors import CALL_ERRORS, AuditError, ValidationError
from caps.protocol.messages import CallFailure, CapabilityRequestMessage
from caps.security.approvals.model import Approver
from caps.security.audit import (
    AuditEvent,
    CallStatus,
    DecisionMade,
    MemoryAuditLog,
    OutcomeRecorded,
)
from caps.security.scopes import Violation
from caps.worker.host.supervisor.interface import CallResponse

pytestmark = pytest.mark.anyio

SECRET = "hunter2"
_numbers = itertools.count(1)


def asked(capability: str, payload: dict[str, Any] | None = None, **more: Any) -> Any:
    """A request as it arrives from a worker."""
    number = next(_numbers)
    return CapabilityRequestMessage(
        id=f"e1:{number}",
        timestamp=0.0,
        request_id=f"r{number}",
        capability=capability,
        payload=payload or {},
        **more,
    )


def value_of(answer: CallResponse) -> Any:
    """The result in an answer, which must not be a failure."""
    assert answer.failure is None
    assert isinstance(answer.result, msgspec.Raw)
    return msgspec.msgpack.decode(answer.result)


def failure_of(answer: CallResponse) -> CallFailure:
    """The failure in an answer, which the wire must be able to carry."""
    assert answer.failure is not None
    assert answer.result is None
    assert answer.failure.code in CALL_ERRORS
    assert len(msgspec.msgpack.encode(answer.failure)) < 1024 * 1024
    return answer.failure


class FailingLog(MemoryAuditLog):
    """A log whose disk is full for one kind of event."""

    def __init__(self, refused: type[AuditEvent]) -> None:
        super().__init__()
        self.refused = refused

    async def append(self, event: AuditEvent) -> None:
        if isinstance(event, self.refused):
            raise AuditError("the disk is full")
        await super().append(event)


class BoxScope(Scope):
    """A scope that refuses one size itself, and leaves another to the provider."""

    largest: int

    def violation(self, function: str, payload: Any) -> Violation | None:
        if payload.get("size", 0) > self.largest:
            return Violation("largest", "the box is too large")
        return None


@dataclass
class Bench:
    """A registry, an audit log and metrics, and a broker over them."""

    audit: MemoryAuditLog = field(default_factory=MemoryAuditLog)
    registry: CapabilityRegistry = field(default_factory=CapabilityRegistry)
    samples: CollectorRegistry = field(default_factory=CollectorRegistry)
    exporter: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    default_timeout_ms: int = 5000
    approver: Approver | None = None
    broker: BrokerServices = field(init=False)

    def __post_init__(self) -> None:
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        metrics = Metrics(self.samples)
        self.broker = BrokerServices(
            audit=self.audit,
            metrics=metrics,
            tracing=Tracing(provider),
            default_timeout_ms=self.default_timeout_ms,
            approvals=ApprovalQueue(self.audit, metrics, self.approver),
        )

    def provides(self, name: str, provider: Callable[..., Any], **more: Any) -> None:
        """Register a plain provider, whose schemas are open unless `more` says otherwise."""
        more.setdefault("schema_in", {"type": "object"})
        self.registry.register(CapabilitySpec(name=name, **more), provider)

    def execution(
        self, *, principal: str = "alice", execution_id: str = "e1", **policy: Any
    ) -> ExecutionBroker:
        """The broker of one execution under `policy`, by default all of `box`; its clock runs."""
        policy.setdefault("allow", ["box.*"])
        grant = self.registry.inject("caps", execution_id, {"id": "test", **policy})
        identity = Identity(principal=principal, agent="agent-7", session="s-9")
        with self.broker.tracing.execution(execution_id, "test", "0" * 64, identity) as span:
            calls = ExecutionBroker(self.broker, grant, identity, span)
        calls.begin()
        return calls

    @property
    def decisions(self) -> list[DecisionMade]:
        return [event for event in self.audit.events if isinstance(event, DecisionMade)]

    @property
    def outcomes(self) -> list[OutcomeRecorded]:
        return [event for event in self.audit.events if isinstance(event, OutcomeRecorded)]

    def count(self, name: str, **labels: str) -> float:
        return self.samples.get_sample_value(name, labels) or 0.0


@pytest.fixture
def bench() -> Bench:
    """A bench with `box.echo`, which gives back what it gets."""
    made = Bench()

    @made.registry.capability("box.echo", shown=("word",))
    async def echo(word: str) -> str:
        return word

    return made


class TestEvidence:
    async def test_an_allowed_call_leaves_a_decision_and_an_outcome(self, bench: Bench) -> None:
        """Who, what, why, and the outcome, in this order."""
        answer = await bench.execution().answer(asked("box.echo", {"word": "hi"}))
        assert value_of(answer) == "hi"
        decision, outcome = bench.audit.events
        assert isinstance(decision, DecisionMade)
        assert isinstance(outcome, OutcomeRecorded)
        assert (decision.principal, decision.agent, decision.session) == ("alice", "agent-7", "s-9")
        assert (decision.execution_id, decision.capability) == ("e1", "box.echo")
        assert (decision.decision, decision.reason, decision.rule) == ("allow", "allowed", "box.*")
        assert (decision.policy_id, decision.shown) == ("test", {"word": "hi"})
        assert len(decision.policy_sha256) == 64
        assert outcome.request_id == decision.request_id
        assert (outcome.status, outcome.bytes_out) == (CallStatus.OK, 3)

    async def test_the_decision_is_recorded_before_the_provider_is_called(
        self, bench: Bench
    ) -> None:
        """A provider that reads the log finds its own decision, and no outcome."""
        seen: list[list[AuditEvent]] = []
        bench.provides("box.look", lambda context, payload: seen.append(bench.audit.events))
        await bench.execution().answer(asked("box.look"))
        (events,) = seen
        assert [type(event) for event in events] == [DecisionMade]

    async def test_no_evidence_no_effect(self) -> None:
        """If the decision cannot be written, the provider is not called."""
        bench = Bench(audit=FailingLog(DecisionMade))
        called: list[str] = []
        bench.provides("box.act", lambda context, payload: called.append("called"))
        answer = await bench.execution().answer(asked("box.act"))
        assert failure_of(answer).code == "audit_error"
        assert called == []
        assert bench.audit.events == []
        labels = {
            "capability": "box.act",
            "decision": "allow",
            "reason_code": "allowed",
            "status": "audit_error",
        }
        assert bench.count("caps_capability_requests_total", **labels) == 1

    async def test_a_result_without_evidence_is_withheld(self) -> None:
        """If the outcome cannot be written, the caller does not get the result."""
        bench = Bench(audit=FailingLog(OutcomeRecorded))
        bench.provides("box.act", lambda context, payload: SECRET)
        failure = failure_of(await bench.execution().answer(asked("box.act")))
        assert failure.code == "audit_error"
        assert SECRET not in repr(failure)

    async def test_a_refusal_without_evidence_is_still_a_refusal(self) -> None:
        """A full disk turns a denial into another failure, never into an answer."""
        bench = Bench(audit=FailingLog(DecisionMade))
        answer = await bench.execution(allow=[]).answer(asked("box.none"))
        assert failure_of(answer).code == "audit_error"

    async def test_every_request_is_decided_and_every_allowed_one_has_an_outcome(
        self, bench: Bench
    ) -> None:
        """Over a mix of good and bad requests, the records pair up."""
        bench.provides("box.fail", _raising(ValueError(SECRET)))
        bench.provides("other.act", lambda context, payload: None)
        calls = bench.execution()
        requests = [
            asked("box.echo", {"word": "a"}),
            asked("box.echo", {"word": 1}),
            asked("box.fail"),
            asked("box.none"),
            asked("other.act"),
            asked("box.echo", {"word": "b"}, idempotency_key="k"),
            asked("box.echo", {"word": "b"}, idempotency_key="k"),
            asked("box.echo", {"word": "c"}, idempotency_key="k"),
        ]
        for request in requests:
            await calls.answer(request)
        assert [d.request_id for d in bench.decisions] == [r.request_id for r in requests]
        allowed = [d.request_id for d in bench.decisions if d.decision == "allow"]
        assert [outcome.request_id for outcome in bench.outcomes] == allowed
        assert [summary.decision for summary in calls.evidence.decisions] == [
            decision.decision for decision in bench.decisions
        ]
        assert calls.meter.calls == len(requests)

    async def test_what_is_not_shown_is_redacted(self, bench: Bench) -> None:
        """An argument that the spec does not name is nowhere in the log."""
        bench.provides("box.keep", lambda context, payload: None)
        request = asked("box.keep", {"password": SECRET}, idempotency_key=f"key-{SECRET}")
        await bench.execution().answer(request)
        assert bench.decisions[0].hidden.keys() == {"password"}
        assert SECRET.encode() not in b"".join(bench.audit.lines)


class TestRefusals:
    async def test_what_is_not_allowed_is_not_called(self, bench: Bench) -> None:
        """A request for a withheld capability names the reason and the policy."""
        called: list[str] = []
        bench.provides("other.act", lambda context, payload: called.append("called"))
        failure = failure_of(await bench.execution().answer(asked("other.act")))
        assert failure.code == "policy_denied"
        assert failure.details == {
            "capability": "other.act",
            "reason": "not_allowed",
            "policy_id": "test",
        }
        assert called == []

    async def test_a_payload_that_does_not_fit_is_refused_with_its_problems(
        self, bench: Bench
    ) -> None:
        """The broker checks the schema again, whatever the wrapper did."""
        failure = failure_of(await bench.execution().answer(asked("box.echo", {"word": 5})))
        assert failure.code == "validation_error"
        assert failure.details["problems"] == [
            {"path": "$.word", "expected": "type string", "got": "5"}
        ]

    async def test_a_hostile_payload_cannot_make_the_answer_too_large(self, bench: Bench) -> None:
        """Names that the worker made up are cut, however long they are."""
        bench.provides(
            "box.texts",
            lambda context, payload: None,
            schema_in={"type": "object", "additionalProperties": {"type": "string"}},
        )
        calls = bench.execution()
        long = "a" * 1_000_000
        for capability in ("box.echo", "box.texts"):
            payload = {long + str(number): number for number in range(8)}
            failure = failure_of(await calls.answer(asked(capability, payload)))
            assert failure.details["problems"]

    async def test_a_revoked_capability_is_refused_in_mid_execution(self, bench: Bench) -> None:
        """Revoking takes effect on the next request."""
        calls = bench.execution()
        assert value_of(await calls.answer(asked("box.echo", {"word": "a"}))) == "a"
        calls.grant = calls.grant.revoking("box.echo")
        failure = failure_of(await calls.answer(asked("box.echo", {"word": "a"})))
        assert (failure.code, failure.details["reason"]) == ("policy_denied", "revoked")

    async def test_nothing_is_allowed_before_the_clock_starts(self, bench: Bench) -> None:
        """An execution whose code was never sent has no time left."""
        grant = bench.registry.inject("caps", "e1", {"allow": ["box.*"]})
        with bench.broker.tracing.execution("e1", "test", "0" * 64, Identity()) as span:
            calls = ExecutionBroker(bench.broker, grant, Identity(), span)
        failure = failure_of(await calls.answer(asked("box.echo", {"word": "a"})))
        assert (failure.code, failure.details["limit"]) == ("limit_exceeded", "wall_ms")


class TestScopes:
    @pytest.fixture
    def boxes(self) -> Bench:
        """`box.put`, whose provider refuses what the scope could not see."""
        made = Bench()
        made.registry.domain("box", scope=BoxScope)

        def put(context: CallContext, payload: Any) -> int:
            scope = context.scope_as(BoxScope)
            if payload["size"] == scope.largest:
                raise ScopeViolationError("largest", "the box is full up to the brim")
            return int(payload["size"])

        made.provides("box.put", put)
        return made

    async def test_the_provider_gets_the_scope_of_the_policy(self, boxes: Bench) -> None:
        """What is within the scope goes through."""
        calls = boxes.execution(scopes={"box": {"largest": 5}})
        assert value_of(await calls.answer(asked("box.put", {"size": 4}))) == 4

    async def test_a_payload_outside_the_scope_never_reaches_the_provider(
        self, boxes: Bench
    ) -> None:
        """The broker asks the scope before it asks the provider."""
        calls = boxes.execution(scopes={"box": {"largest": 5}})
        failure = failure_of(await calls.answer(asked("box.put", {"size": 6})))
        assert (failure.code, failure.details["reason"]) == ("policy_denied", "scope_violation")
        assert boxes.outcomes == []
        assert boxes.decisions[0].rule == "scopes.box.largest"

    async def test_a_provider_may_refuse_by_its_scope(self, boxes: Bench) -> None:
        """Its refusal is a denial to the caller, to the metrics and in the audit."""
        calls = boxes.execution(scopes={"box": {"largest": 5}})
        failure = failure_of(await calls.answer(asked("box.put", {"size": 5})))
        assert (failure.code, failure.details["reason"]) == ("policy_denied", "scope_violation")
        (outcome,) = boxes.outcomes
        assert (outcome.status, outcome.reason) == (CallStatus.DENIED, "scope_violation")
        assert outcome.detail == "outside `scopes.box.largest`"
        labels = {"capability": "box.put", "reason": "scope_violation"}
        assert boxes.count("policy_denied_total", **labels) == 1


class TestLimits:
    async def test_calls_are_limited_and_refused_ones_count(self, bench: Bench) -> None:
        """The third request of two is over, whatever the first two were."""
        calls = bench.execution(limits={"calls": 2})
        await calls.answer(asked("box.none"))
        assert value_of(await calls.answer(asked("box.echo", {"word": "a"}))) == "a"
        failure = failure_of(await calls.answer(asked("box.echo", {"word": "a"})))
        assert failure.code == "limit_exceeded"
        assert (failure.details["limit"], failure.details["allowed"]) == ("calls", 2)

    async def test_concurrency_is_limited_while_calls_are_under_way(self, bench: Bench) -> None:
        """The second of one at a time is refused, and allowed once the first is over."""
        entered, gate = anyio.Event(), anyio.Event()

        async def wait(context: CallContext, payload: Any) -> None:
            entered.set()
            await gate.wait()

        bench.provides("box.wait", wait)
        calls = bench.execution(limits={"concurrency": 1})
        async with anyio.create_task_group() as group:
            group.start_soon(calls.answer, asked("box.wait"))
            await entered.wait()
            failure = failure_of(await calls.answer(asked("box.echo", {"word": "a"})))
            assert (failure.code, failure.details["limit"]) == ("limit_exceeded", "concurrency")
            gate.set()
        assert value_of(await calls.answer(asked("box.echo", {"word": "a"}))) == "a"

    async def test_a_rate_bounds_a_principal_across_executions(self, bench: Bench) -> None:
        """A new execution gives no new allowance; another principal has its own."""
        limits = {"rates": {"box.echo": "2/hour"}}
        request = {"word": "a"}
        first = bench.execution(execution_id="e1", limits=limits)
        second = bench.execution(execution_id="e2", limits=limits)
        other = bench.execution(execution_id="e3", limits=limits, principal="bob")
        await first.answer(asked("box.echo", request))
        await second.answer(asked("box.echo", request))
        for calls in (first, second):
            failure = failure_of(await calls.answer(asked("box.echo", request)))
            assert (failure.details["limit"], failure.details["allowed"]) == ("rates", "2/hour")
        assert value_of(await other.answer(asked("box.echo", request))) == "a"

    async def test_refused_requests_use_nothing_of_a_rate(self, bench: Bench) -> None:
        """Only allowed calls are counted in the window."""
        calls = bench.execution(limits={"rates": {"box.*": "1/hour"}})
        failure_of(await calls.answer(asked("box.echo", {"word": 1})))
        assert value_of(await calls.answer(asked("box.echo", {"word": "a"}))) == "a"

    async def test_calls_at_once_cannot_pass_a_rate_together(self, bench: Bench) -> None:
        """A call takes its place in the window before anything else may run."""
        calls = bench.execution(limits={"rates": {"box.echo": "1/hour"}})
        answers: list[CallResponse] = []

        async def call() -> None:
            answers.append(await calls.answer(asked("box.echo", {"word": "a"})))

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(call)
        assert sum(answer.failure is None for answer in answers) == 1


class TestDeadlines:
    @pytest.mark.parametrize(
        ("caller", "spec", "default", "expected"),
        [
            (None, None, 700, 700),
            (100, None, 700, 100),
            (900, None, 700, 700),
            (None, 200, 700, 200),
            (300, 200, 700, 200),
            (300, 800, 700, 300),
        ],
    )
    async def test_the_shortest_timeout_counts(
        self, caller: int | None, spec: int | None, default: int, expected: int
    ) -> None:
        """Of the caller's, the capability's and the operator's."""
        bench = Bench(default_timeout_ms=default)
        bench.provides("box.time", lambda context, payload: context.timeout_ms, timeout_ms=spec)
        answer = await bench.execution().answer(asked("box.time", timeout_ms=caller))
        assert value_of(answer) == expected

    @pytest.mark.parametrize(
        ("timeout_ms", "code", "status"),
        [
            (5, "capability_timeout", CallStatus.TIMEOUT),
            (60_000, "policy_denied", CallStatus.CANCELLED),
        ],
    )
    async def test_a_call_ends_for_what_ended_it_first(
        self, bench: Bench, timeout_ms: int, code: str, status: CallStatus
    ) -> None:
        """Its deadline or a revocation, however long it takes to end and whatever comes then."""
        begun, ending, goes_on = anyio.Event(), anyio.Event(), anyio.Event()
        answers: list[CallResponse] = []

        async def slow_to_end(context: CallContext, payload: Any) -> None:
            begun.set()
            try:
                await anyio.sleep_forever()
            finally:
                ending.set()
                with anyio.CancelScope(shield=True):
                    await goes_on.wait()

        bench.provides("box.wait", slow_to_end)
        execution = bench.execution()

        async def call() -> None:
            answers.append(await execution.answer(asked("box.wait", timeout_ms=timeout_ms)))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await (ending if status is CallStatus.TIMEOUT else begun).wait()
            execution.revoke(frozenset({"box.wait"}))
            goes_on.set()
        assert failure_of(answers[0]).code == code
        assert [outcome.status for outcome in bench.outcomes] == [status]

    async def test_an_async_provider_is_cancelled_when_its_time_is_up(self, bench: Bench) -> None:
        """The provider is notified, and its caller gets a timeout."""
        ended: list[str] = []

        async def forever(context: CallContext, payload: Any) -> None:
            try:
                await anyio.sleep_forever()
            finally:
                ended.append("cancelled")

        bench.provides("box.wait", forever)
        failure = failure_of(await bench.execution().answer(asked("box.wait", timeout_ms=5)))
        assert failure.code == "capability_timeout"
        assert failure.details == {"capability": "box.wait", "timeout_ms": 5}
        assert ended == ["cancelled"]
        assert bench.outcomes[0].status is CallStatus.TIMEOUT

    async def test_a_sync_provider_is_left_behind_when_its_time_is_up(self, bench: Bench) -> None:
        """A thread cannot be stopped; the caller does not wait for it."""
        release, left = threading.Event(), threading.Event()

        def block(context: CallContext, payload: Any) -> str:
            release.wait()
            left.set()
            return SECRET

        bench.provides("box.block", block)
        try:
            answer = await bench.execution().answer(asked("box.block", timeout_ms=1000))
            assert not left.is_set()
        finally:
            release.set()
        assert failure_of(answer).code == "capability_timeout"
        assert await anyio.to_thread.run_sync(left.wait, 10)
        assert [outcome.status for outcome in bench.outcomes] == [CallStatus.TIMEOUT]

    async def test_a_call_that_ends_with_its_execution_leaves_an_outcome(
        self, bench: Bench
    ) -> None:
        """The effect may have begun, so the log says that it was cut short."""
        entered = anyio.Event()

        async def forever(context: CallContext, payload: Any) -> None:
            entered.set()
            await anyio.sleep_forever()

        bench.provides("box.wait", forever)
        calls = bench.execution()
        async with anyio.create_task_group() as group:
            group.start_soon(calls.answer, asked("box.wait"))
            await entered.wait()
            group.cancel_scope.cancel()
        assert [(o.status, o.detail) for o in bench.outcomes] == [(CallStatus.CANCELLED, None)]

    async def test_a_call_that_had_not_begun_says_so(self) -> None:
        """The execution ended while the decision was being written: there was no effect."""
        writing, entered = anyio.Event(), []

        class SlowLog(MemoryAuditLog):
            async def append(self, event: AuditEvent) -> None:
                if isinstance(event, DecisionMade):
                    writing.set()
                    await anyio.lowlevel.cancel_shielded_checkpoint()
                await super().append(event)

        async def provider(context: CallContext, payload: Any) -> None:
            entered.append(1)
            await anyio.sleep_forever()

        bench = Bench(audit=SlowLog())
        bench.provides("box.wait", provider)
        calls = bench.execution()
        async with anyio.create_task_group() as group:
            group.start_soon(calls.answer, asked("box.wait"))
            await writing.wait()
            group.cancel_scope.cancel()
        recorded = [(o.status, o.detail) for o in bench.outcomes]
        assert (entered, recorded) == ([], [(CallStatus.CANCELLED, "it was not begun")])


def _raising(error: BaseException) -> Callable[[CallContext, Any], Any]:
    async def provider(context: CallContext, payload: Any) -> None:
        raise error

    return provider


class _Silent(Exception):
    """An error that cannot even be described."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


class _Stop(BaseException):
    """An error that is not an `Exception`."""


class _BusyError(ProviderError):
    """An author's own kind of failure, with a code that no worker knows."""

    code = "busy"


class TestFailingProviders:
    @pytest.mark.parametrize(
        "error",
        [
            ValueError(SECRET),
            SystemExit(SECRET),
            _Stop(SECRET),
            asyncio.CancelledError(SECRET),
            TimeoutError(SECRET),
            AuditError(SECRET),
        ],
        ids=lambda error: type(error).__name__,
    )
    async def test_a_foreign_error_is_told_to_the_host_and_not_to_the_code(
        self, bench: Bench, error: BaseException, caplog: pytest.LogCaptureFixture
    ) -> None:
        """User space learns that it failed and where to look: the host's log has the traceback.

        The text may quote arguments, so the audit has its class, and a digest to look it up by.
        """
        bench.provides("box.fail", _raising(error))
        request = asked("box.fail")
        failure = failure_of(await bench.execution().answer(request))
        assert failure.code == "provider_error"
        assert request.request_id in failure.message
        assert SECRET not in repr(failure)
        (outcome,) = bench.outcomes
        assert outcome.status is CallStatus.PROVIDER_ERROR
        digest = bench.audit.redactor.digest(SECRET)
        assert outcome.detail == f"{type(error).__name__}: {digest}"
        assert SECRET not in repr(bench.audit.lines)
        assert f"request {request.request_id!r} of execution `e1`" in caplog.text
        assert "Traceback" in caplog.text
        assert f"{type(error).__name__}: {SECRET}" in caplog.text

    async def test_a_sync_provider_fails_like_an_async_one(self, bench: Bench) -> None:
        """Its error comes out of its thread in the same way."""

        @bench.registry.capability("box.fail")
        def fail() -> int:
            raise ValueError(SECRET)

        failure = failure_of(await bench.execution().answer(asked("box.fail")))
        assert failure.code == "provider_error"
        assert bench.outcomes[0].detail == f"ValueError: {bench.audit.redactor.digest(SECRET)}"

    async def test_an_error_that_cannot_be_described_is_still_an_outcome(
        self, bench: Bench
    ) -> None:
        """Even the text of an error is code of the provider's."""
        bench.provides("box.fail", _raising(_Silent()))
        failure_of(await bench.execution().answer(asked("box.fail")))
        assert bench.outcomes[0].detail == "_Silent"

    async def test_what_a_provider_shows_is_not_in_the_audit(self, bench: Bench) -> None:
        """The message is safe for its caller, who knows the arguments; others read the log."""
        bench.provides("box.fail", _raising(ProviderError(f"no box `{SECRET}`")))
        assert SECRET in failure_of(await bench.execution().answer(asked("box.fail"))).message
        digest = bench.audit.redactor.digest(f"no box `{SECRET}`")
        assert bench.outcomes[0].detail == f"ProviderError: {digest}"
        assert SECRET not in repr(bench.audit.lines)

    async def test_a_worker_cannot_forge_lines_of_the_hosts_log(
        self, bench: Bench, caplog: pytest.LogCaptureFixture
    ) -> None:
        """It chooses the id of a request."""
        bench.provides("box.fail", _raising(ValueError("no")))
        request = msgspec.structs.replace(asked("box.fail"), request_id="r\nCRITICAL forged\x1b")
        await bench.execution().answer(request)
        assert "\nCRITICAL" not in caplog.text
        assert "\x1b" not in caplog.text

    async def test_a_provider_chooses_what_is_safe_to_show(self, bench: Bench) -> None:
        """The message and details of a `ProviderError` reach user space."""
        bench.provides("box.fail", _raising(ProviderError("the box is shut", retry=True)))
        failure = failure_of(await bench.execution().answer(asked("box.fail")))
        assert (failure.code, failure.message) == ("provider_error", "the box is shut")
        assert failure.details == {"retry": True}

    async def test_a_subclass_of_provider_error_is_one_on_the_wire(self, bench: Bench) -> None:
        """A code that the worker does not know would end the execution."""
        bench.provides("box.fail", _raising(_BusyError("come back later")))
        failure = failure_of(await bench.execution().answer(asked("box.fail")))
        assert (failure.code, failure.message) == ("provider_error", "come back later")

    @pytest.mark.parametrize(
        "error",
        [
            ProviderError("odd", where=object()),
            ProviderError("odd", where=[float("nan")]),
            ProviderError("odd", where="a" * 1_000_000),
            ProviderError("odd\ud800"),
            ProviderError("o" * 20_000_000),
        ],
        ids=["foreign type", "nan", "large detail", "surrogate", "large message"],
    )
    async def test_an_error_that_the_wire_cannot_carry_is_cut_to_fit(
        self, bench: Bench, error: ProviderError
    ) -> None:
        """The failure arrives anyway, without what does not fit."""
        bench.provides("box.fail", _raising(error))
        failure = failure_of(await bench.execution().answer(asked("box.fail")))
        assert failure.message.startswith("o")
        assert failure.details == {}

    async def test_a_types_validator_refuses_as_a_schema_does(self, bench: Bench) -> None:
        """What fits the schema and not the type is a `ValidationError`, and counted as refused."""
        problem = {"path": "$.a", "expected": "more", "got": "less"}
        error = ValidationError("no", capability="box.fail", problems=[problem])
        bench.provides("box.fail", _raising(error))
        failure = failure_of(await bench.execution().answer(asked("box.fail")))
        assert (failure.code, failure.details["problems"]) == ("validation_error", [problem])
        labels = {"capability": "box.fail", "reason": "payload_invalid"}
        assert bench.count("policy_denied_total", **labels) == 1

    async def test_a_provider_cancelled_by_others_fails_and_its_neighbours_go_on(
        self, bench: Bench
    ) -> None:
        """Awaiting a task that somebody cancelled is the provider's own misfortune."""

        async def awaits_cancelled(context: CallContext, payload: Any) -> None:
            lost = asyncio.ensure_future(asyncio.Event().wait())
            lost.cancel()
            await lost

        bench.provides("box.lost", awaits_cancelled)
        calls = bench.execution()
        assert failure_of(await calls.answer(asked("box.lost"))).code == "provider_error"
        assert value_of(await calls.answer(asked("box.echo", {"word": "a"}))) == "a"


def _deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def _endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


class TestResults:
    @pytest.mark.parametrize(
        "result",
        [
            {1, 2},
            object(),
            b"bytes",
            {1: "integer key"},
            float("nan"),
            10**40,
            "\ud800",
            "a" * (16 * 1024 * 1024),
            _deep(100),
            _endless(),
        ],
        ids=[
            "set",
            "object",
            "bytes",
            "integer key",
            "nan",
            "integer over 64 bits",
            "surrogate",
            "too large",
            "too deep",
            "holds itself",
        ],
    )
    async def test_a_result_that_is_not_json_like_or_too_much_is_withheld(
        self, bench: Bench, result: Any
    ) -> None:
        """The caller learns that the provider failed, and nothing of the result."""
        bench.provides("box.get", lambda context, payload: result)
        failure = failure_of(await bench.execution().answer(asked("box.get")))
        assert failure.code == "provider_error"
        assert bench.outcomes[0].status is CallStatus.INVALID_OUTPUT
        assert bench.outcomes[0].bytes_out == 0

    async def test_a_result_must_fit_its_schema(
        self, bench: Bench, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The log of the host says where it does not fit; the record has a digest of that."""
        schema = {"type": "object", "properties": {"size": {"type": "integer"}}}
        bench.provides("box.get", lambda context, payload: {"size": SECRET}, schema_out=schema)
        failure = failure_of(await bench.execution().answer(asked("box.get")))
        assert failure.code == "provider_error"
        assert SECRET not in repr(failure)
        text = "$.size: expected type integer"
        digest = bench.audit.redactor.digest(text)
        assert bench.outcomes[0].detail == f"SchemaMismatch: {digest}"
        assert text in caplog.text
        assert SECRET not in caplog.text

    async def test_the_names_in_a_result_are_redacted_as_its_values_are(self, bench: Bench) -> None:
        """A mapping may have a secret as its key, and the path of a mismatch names the key."""
        schema = {"type": "object", "additionalProperties": {"type": "integer"}}
        bench.provides("box.get", lambda context, payload: {SECRET: "x"}, schema_out=schema)
        failure = failure_of(await bench.execution().answer(asked("box.get")))
        assert failure.code == "provider_error"
        assert SECRET not in repr(failure)
        assert SECRET not in repr(bench.audit.events)
        assert str(bench.outcomes[0].detail).startswith("SchemaMismatch: hmac-sha256:")

    async def test_a_typed_function_that_returns_another_type_is_caught(self, bench: Bench) -> None:
        """Without a warning, which would print the value."""

        @bench.registry.capability("box.get")
        async def get() -> int:
            return SECRET  # type: ignore[return-value]

        failure = failure_of(await bench.execution().answer(asked("box.get")))
        assert failure.code == "provider_error"
        assert bench.outcomes[0].status is CallStatus.INVALID_OUTPUT


class TestIdempotency:
    @pytest.fixture
    def effects(self, bench: Bench) -> list[str]:
        """What `box.act` did; it fails, after its effect, for the argument `fail`."""
        done: list[str] = []

        async def act(context: CallContext, payload: Any) -> int:
            done.append(payload["word"])
            if payload["word"] == "fail":
                raise ProviderError(f"failure {len(done)}")
            return len(done)

        bench.provides("box.act", act)
        return done

    async def test_a_repeat_gets_the_recorded_answer(
        self, bench: Bench, effects: list[str]
    ) -> None:
        """One effect for one key, and the repeat is in the log as such."""
        calls = bench.execution()
        answers = [
            await calls.answer(asked("box.act", {"word": "a"}, idempotency_key="k"))
            for _ in range(3)
        ]
        assert [value_of(answer) for answer in answers] == [1, 1, 1]
        assert effects == ["a"]
        replayed = CallStatus.REPLAYED
        assert [o.status for o in bench.outcomes] == [CallStatus.OK, replayed, replayed]
        labels = {
            "capability": "box.act",
            "decision": "allow",
            "reason_code": "allowed",
            "status": "replayed",
        }
        assert bench.count("caps_capability_requests_total", **labels) == 2

    async def test_a_repeat_at_the_same_time_waits_for_the_first(self, bench: Bench) -> None:
        """Two requests in flight with one key have one effect and one answer."""
        gate = anyio.Event()
        done: list[int] = []

        async def wait(context: CallContext, payload: Any) -> int:
            done.append(1)
            await gate.wait()
            return len(done)

        bench.provides("box.wait", wait)
        calls = bench.execution()
        answers: list[CallResponse] = []

        async def call() -> None:
            answers.append(await calls.answer(asked("box.wait", idempotency_key="k")))

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            group.start_soon(call)
            await anyio.wait_all_tasks_blocked()
            assert answers == []
            gate.set()
        assert [value_of(answer) for answer in answers] == [1, 1]

    async def test_a_failure_is_recorded_as_an_answer_is(
        self, bench: Bench, effects: list[str]
    ) -> None:
        """A repeat of what failed does not try again."""
        calls = bench.execution()
        answers = [
            await calls.answer(asked("box.act", {"word": "fail"}, idempotency_key="k"))
            for _ in range(2)
        ]
        assert [failure_of(answer).message for answer in answers] == ["failure 1", "failure 1"]
        assert effects == ["fail"]

    async def test_a_key_whose_outcome_was_not_recorded_does_not_act_again(self) -> None:
        """The effect may have happened, so the repeat gets the failure."""
        bench = Bench(audit=FailingLog(OutcomeRecorded))
        done: list[str] = []
        bench.provides("box.act", lambda context, payload: done.append("done"))
        calls = bench.execution()
        for _ in range(2):
            answer = await calls.answer(asked("box.act", idempotency_key="k"))
            assert failure_of(answer).code == "audit_error"
        assert done == ["done"]

    async def test_a_key_with_other_arguments_is_refused(
        self, bench: Bench, effects: list[str]
    ) -> None:
        """A key stands for one call and not for two."""
        calls = bench.execution()
        await calls.answer(asked("box.act", {"word": "a"}, idempotency_key="k"))
        answer = await calls.answer(asked("box.act", {"word": "b"}, idempotency_key="k"))
        assert failure_of(answer).code == "validation_error"
        assert effects == ["a"]
        assert [d.decision for d in bench.decisions] == ["allow", "deny"]

    async def test_a_key_belongs_to_its_capability_and_its_execution(
        self, bench: Bench, effects: list[str]
    ) -> None:
        """The same key elsewhere is another key."""
        first, second = bench.execution(), bench.execution(execution_id="e2")
        await first.answer(asked("box.act", {"word": "a"}, idempotency_key="k"))
        await first.answer(asked("box.echo", {"word": "a"}, idempotency_key="k"))
        await second.answer(asked("box.act", {"word": "a"}, idempotency_key="k"))
        assert effects == ["a", "a"]

    async def test_without_a_key_every_call_acts(self, bench: Bench, effects: list[str]) -> None:
        """Equal calls are not taken for repeats."""
        calls = bench.execution()
        for _ in range(2):
            await calls.answer(asked("box.act", {"word": "a"}))
        assert effects == ["a", "a"]


class TestTelemetry:
    async def test_requests_and_denials_are_counted_by_capability(self, bench: Bench) -> None:
        """By how they ended, and by why they were refused."""
        calls = bench.execution()
        await calls.answer(asked("box.echo", {"word": "a"}))
        await calls.answer(asked("box.echo", {"word": 1}))
        name, labels = "caps_capability_requests_total", {"capability": "box.echo"}
        done = {"decision": "allow", "reason_code": "allowed", "status": "ok"}
        refused = {"decision": "deny", "reason_code": "payload_invalid", "status": "denied"}
        assert bench.count(name, **done, **labels) == 1
        assert bench.count(name, **refused, **labels) == 1
        assert bench.count("caps_capability_requests_in_flight") == 0
        assert bench.count("caps_capability_result_bytes_total", **labels) > 0
        assert bench.count("policy_denied_total", reason="payload_invalid", **labels) == 1
        assert bench.count("caps_capability_request_duration_seconds_count", **labels) == 2

    async def test_a_name_that_the_worker_made_up_is_no_label(self, bench: Bench) -> None:
        """Whatever it asks for, the number of time series stays the same."""
        calls = bench.execution()
        for number in range(3):
            await calls.answer(asked(f"made.up_{number}"))
        labels = {"capability": UNREGISTERED, "reason": "unknown_capability"}
        assert bench.count("policy_denied_total", **labels) == 3
        names = {
            sample.labels["capability"]
            for family in bench.samples.collect()
            for sample in family.samples
            if "capability" in sample.labels
        }
        assert names == {UNREGISTERED}

    async def test_a_call_is_a_span_below_its_execution(self, bench: Bench) -> None:
        """Each call has one, with its capability and how it ended."""
        bench.provides("box.fail", _raising(ValueError(SECRET)))
        calls = bench.execution()
        await calls.answer(asked("box.echo", {"word": "a"}))
        await calls.answer(asked("box.fail"))
        spans: dict[str, ReadableSpan] = {
            span.name: span for span in bench.exporter.get_finished_spans()
        }
        execution = spans["execution"].get_span_context()
        echo, fail = spans["execute_tool box.echo"], spans["execute_tool box.fail"]
        for span, outcome in ((echo, "ok"), (fail, "provider_error")):
            assert span.parent is not None
            assert execution is not None
            assert span.parent.span_id == execution.span_id
            assert span.attributes is not None
            assert span.attributes["caps.outcome"] == outcome
        assert echo.status.status_code is StatusCode.UNSET
        assert fail.status.status_code is StatusCode.ERROR
        assert SECRET not in repr([span.to_json() for span in spans.values()])
