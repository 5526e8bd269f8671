"""A broker with simple providers, and requests to it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import anyio
import anyio.lowlevel
from opentelemetry import trace
from prometheus_client import CollectorRegistry

from caps import CapabilityRegistry, MemoryAuditLog
from caps.capabilities.broker.approvals import ApprovalQueue
from caps.capabilities.broker.broker import ExecutionBroker
from caps.capabilities.broker.invoke import outside_task
from caps.capabilities.broker.services import BrokerServices
from caps.capabilities.identity import Identity
from caps.capabilities.provider import ProviderError
from caps.capabilities.telemetry import Metrics, Tracing
from caps.protocol.errors import AuditError
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.audit import AuditEvent
from caps.worker.host.supervisor.interface import SENT, CallResponse, RequestBatch


class BatchLog(MemoryAuditLog):
    """A log that appends several events together, and can fail at a chosen batch."""

    def __init__(self, fails_at: int | None = None) -> None:
        super().__init__()
        self.batches: list[int] = []
        self.fails_at = fails_at

    async def append_all(self, events: Sequence[AuditEvent]) -> None:
        if len(self.batches) == self.fails_at:
            raise AuditError("the disk is full")
        self.batches.append(len(events))
        for event in events:
            await super().append(event)


class BrokerSetup:
    """A registry whose providers record their calls, and the broker of one execution."""

    def __init__(self, audit: MemoryAuditLog | None = None, **policy: Any) -> None:
        self.audit = BatchLog() if audit is None else audit
        self.called: list[Any] = []
        self.samples = CollectorRegistry()
        self.registry = registry = CapabilityRegistry()
        self.policy = policy

        @registry.capability("box.echo", shown=("word",))
        async def echo(word: str) -> str:
            self.called.append(word)
            if word == "bad":
                raise ProviderError("it is bad")
            if word == "broken":
                raise ZeroDivisionError
            return word

        @registry.capability("box.slow")
        async def slow() -> str:
            await anyio.lowlevel.checkpoint()
            return "late"

        metrics = Metrics(self.samples)
        self.broker = BrokerServices(
            audit=self.audit,
            metrics=metrics,
            tracing=Tracing(trace.NoOpTracerProvider()),
            default_timeout_ms=5000,
            approvals=ApprovalQueue(self.audit, metrics, None),
        )
        self.calls = self.execution("e1")

    def execution(self, execution_id: str) -> ExecutionBroker:
        """The broker of an execution that has all of `box`, under the policy of this setup."""
        policy = {"id": "test", "allow": ["box.*"], **self.policy}
        grant = self.registry.inject("caps", execution_id, policy)
        with self.broker.tracing.execution(execution_id, "test", "0" * 64, Identity()) as span:
            calls = ExecutionBroker(self.broker, grant, Identity(), span)
        calls.begin()
        return calls

    async def call(self, *words: Any, **more: Any) -> list[CallResponse | None]:
        return await answer_batch(self.calls, [make_request(word, **more) for word in words])

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.audit.events if isinstance(event, kind)]

    def count(self, name: str, **labels: str) -> float:
        return self.samples.get_sample_value(name, labels) or 0.0


_numbers = itertools.count(1)


async def answer_batch(
    calls: ExecutionBroker, requests: list[CapabilityRequestMessage]
) -> list[CallResponse | None]:
    """Answer requests that were received together, as a supervisor does."""
    return await drive_batch(calls.begin_batch(requests))


async def answer_read(
    calls: ExecutionBroker, requests: list[CapabilityRequestMessage]
) -> list[CallResponse | None]:
    """The same for what comes in one read of the event loop: a request alone has its own way."""
    if len(requests) > 1:
        return await answer_batch(calls, requests)
    kept: list[RequestBatch] = []
    answer = outside_task(lambda: calls.answer_one(requests[0], kept.append))
    if answer is not None:
        assert not kept
        return [answer]
    [batch] = kept
    return await drive_batch(batch)


async def drive_batch(batch: RequestBatch) -> list[CallResponse | None]:
    """All answers of a batch that was begun, also those that it passes on before its end."""
    passed_on: list[CallResponse | None] = [None] * len(batch.answers)

    async def send(ready: list[CallResponse | None]) -> None:
        await anyio.lowlevel.checkpoint()
        for index, answer in enumerate(ready):
            if answer not in (None, SENT):
                assert passed_on[index] is None
                passed_on[index] = answer

    try:
        if not batch.step_sync():
            await batch.drive(send)
    finally:
        batch.close()
    pairs = zip(batch.answers, passed_on, strict=True)
    return [before if answer is SENT else answer for answer, before in pairs]


async def send_nothing(_ready: list[CallResponse | None]) -> None:
    """For a test that has no use for answers that a slow machine passes on early."""


def make_request(word: Any, capability: str = "box.echo", **more: Any) -> CapabilityRequestMessage:
    """The next request of the execution `e1`; without a payload if `word` is None."""
    number = next(_numbers)
    payload = {} if word is None else {"word": word}
    return CapabilityRequestMessage(
        id=f"e1:{number}",
        timestamp=0.0,
        request_id=f"r{number}",
        capability=capability,
        payload=payload,
        **more,
    )
