"""A broker whose functions give labelled data, and functions that send it out.

Every answer holds a fresh token. What reaches an egress function is recorded, so that a test can
see whether a token got out, and under which labels it had been answered.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import anyio.lowlevel
import msgspec
from opentelemetry import trace
from prometheus_client import CollectorRegistry

from caps import CapabilityRegistry, MemoryAuditLog
from caps.capabilities.broker.approvals import ApprovalQueue
from caps.capabilities.broker.broker import ExecutionBroker
from caps.capabilities.broker.flow import FlowState
from caps.capabilities.broker.services import BrokerServices
from caps.capabilities.identity import Identity
from caps.capabilities.provider import CallContext, ProviderError
from caps.capabilities.telemetry import Metrics, Tracing
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.approvals.model import Approver
from caps.security.audit import DecisionMade, OutcomeRecorded
from caps.worker.host.supervisor.interface import CallResponse
from support.broker_setup import drive_batch

NO_EXFILTRATION: dict[str, Any] = {
    "id": "no-exfiltration",
    "after": ["private", "untrusted"],
    "deny": ["egress"],
}
ASK_FIRST: dict[str, Any] = {"id": "ask-first", "after": ["private"], "approve": ["out.send"]}


class FlowSetup:
    """A registry with labelled functions, and brokers of executions under one policy."""

    def __init__(self, *flows: dict[str, Any], approver: Approver | None = None, **policy: Any):
        self.audit = MemoryAuditLog()
        self.sent: list[str] = []
        """The data of each call of an egress function whose provider was called."""
        self.contexts: list[CallContext] = []
        self.tokens: dict[str, frozenset[str]] = {}
        """Each token that was answered, with the labels of its answer."""
        self.functions: dict[str, str] = {}
        """The function that answered it."""
        self.policy = {
            "id": "test",
            "allow": ["data.*", "out.*"],
            "flows": list(flows) or [NO_EXFILTRATION],
            **policy,
        }
        self.registry = CapabilityRegistry()
        self._numbers = itertools.count(1)
        self._register()
        metrics = Metrics(CollectorRegistry())
        self.services = BrokerServices(
            audit=self.audit,
            metrics=metrics,
            tracing=Tracing(trace.NoOpTracerProvider()),
            default_timeout_ms=5000,
            approvals=ApprovalQueue(self.audit, metrics, approver),
        )
        self.calls = self.execution("e1")

    def _token(self, context: CallContext, *labels: str) -> str:
        self.contexts.append(context)
        token = f"token-{next(self._numbers)}"
        self.tokens[token] = frozenset(labels)
        self.functions[token] = context.capability
        return token

    def _register(self) -> None:
        """Of each kind one that never waits and one that does."""
        capability = self.registry.capability

        @capability("data.plain")
        async def plain(context: CallContext) -> str:
            return self._token(context)

        @capability("data.secret", labels=("private",))
        async def secret(context: CallContext) -> str:
            return self._token(context, "private")

        @capability("data.slow_secret", labels=("private",))
        async def slow_secret(context: CallContext) -> str:
            await anyio.lowlevel.checkpoint()
            return self._token(context, "private")

        @capability("data.page", labels=("untrusted",))
        async def page(context: CallContext) -> str:
            return self._token(context, "untrusted")

        @capability("data.slow_page", labels=("untrusted",))
        async def slow_page(context: CallContext) -> str:
            await anyio.lowlevel.checkpoint()
            return self._token(context, "untrusted")

        @capability("data.stored")
        async def stored(context: CallContext, labels: list[str]) -> str:
            """What was stored with `labels`."""
            context.add_labels(*labels)
            return self._token(context, *labels)

        @capability("data.broken", labels=("private",))
        async def broken(context: CallContext) -> str:
            raise ProviderError(f"cannot read {self._token(context, 'private')}")

        @capability("out.send", egress=True)
        async def send(context: CallContext, data: str) -> str:
            self.contexts.append(context)
            self.sent.append(data)
            return "sent"

        @capability("out.slow_send", egress=True)
        async def slow_send(context: CallContext, data: str) -> str:
            self.contexts.append(context)
            self.sent.append(data)
            await anyio.lowlevel.checkpoint()
            return "sent"

    def execution(
        self,
        execution_id: str,
        *,
        principal: str = "ada",
        session: str | None = None,
        flow: FlowState | None = None,
        above: Sequence[dict[str, Any]] = (),
    ) -> ExecutionBroker:
        """The broker of an execution under the policy, and those `above` it."""
        grant = self.registry.inject("caps", execution_id, [*above, self.policy])
        identity = Identity(principal=principal, session=session)
        with self.services.tracing.execution(execution_id, "test", "0" * 64, identity) as span:
            calls = ExecutionBroker(self.services, grant, identity, span, flow=flow)
        calls.begin()
        return calls

    def request(self, capability: str, key: str | None = None, **payload: Any) -> Any:
        number = next(self._numbers)
        return CapabilityRequestMessage(
            id=f"e1:{number}",
            timestamp=0.0,
            request_id=f"r{number}",
            capability=capability,
            payload=payload,
            idempotency_key=key,
        )

    async def call(
        self,
        capability: str,
        key: str | None = None,
        *,
        on: ExecutionBroker | None = None,
        **p: Any,
    ) -> CallResponse:
        """One call by the driver of calls that may wait."""
        return await (on or self.calls).answer(self.request(capability, key, **p))

    async def batch(
        self, requests: Sequence[CapabilityRequestMessage], on: ExecutionBroker | None = None
    ) -> list[CallResponse]:
        """Requests of one read, as a supervisor answers them: inline, or each in its task."""
        calls = on or self.calls
        batch = calls.begin_batch(requests)
        answers = await drive_batch(batch)
        found: list[CallResponse] = []
        for request, answer in zip(requests, answers, strict=True):
            found.append(answer or await calls.answer(request, batch.answered))
        return found

    def decisions(self) -> list[DecisionMade]:
        return [event for event in self.audit.events if isinstance(event, DecisionMade)]

    def outcomes(self) -> list[OutcomeRecorded]:
        return [event for event in self.audit.events if isinstance(event, OutcomeRecorded)]


def value_of(answer: CallResponse) -> Any:
    assert answer.failure is None, answer.failure
    assert isinstance(answer.result, msgspec.Raw)
    return msgspec.msgpack.decode(answer.result)


def reason_of(answer: CallResponse) -> str:
    assert answer.failure is not None
    return str(answer.failure.details.get("reason", answer.failure.code))
