"""(6) The parts of a broker that are made when they are first used, which is by the first call.

Most executions make no call. All parts are made in the event loop, where no two tasks can make them
at the same time. There is no rule about calls here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from caps.capabilities.artifacts import Artifact, ArtifactStore
from caps.capabilities.broker.evidence import CallEvidence, DecisionSummary
from caps.capabilities.broker.flow import FlowState
from caps.capabilities.broker.idempotency import IdempotencyCache
from caps.capabilities.broker.invoke import CallsInFlight
from caps.capabilities.broker.services import BrokerServices
from caps.capabilities.broker.usage import UsageMeter
from caps.capabilities.grant import Grant
from caps.capabilities.identity import Identity
from caps.capabilities.telemetry.calls import CallTelemetry
from caps.capabilities.telemetry.tracing import ExecutionSpan
from caps.worker.host.supervisor.wall_clock import WallClock

if TYPE_CHECKING:
    from caps.capabilities.broker.broker import ExecutionBroker


class CallParts:
    """Of one execution: who calls, and where its calls are counted, recorded and kept."""

    def __init__(
        self,
        services: BrokerServices,
        grant: Grant,
        identity: Identity,
        span: ExecutionSpan,
        degraded: str | None,
        on_decision: Callable[[DecisionSummary], None] | None,
        on_artifact: Callable[[Artifact], None] | None,
        outer: ExecutionBroker | None,
        clock: WallClock,
        keys: IdempotencyCache | None,
        flow: FlowState | None,
    ) -> None:
        self.grant: Grant = grant
        self.identity = identity
        self.audit = services.audit
        self._services = services
        self._span = span
        self._degraded = degraded
        self._on_decision = on_decision
        self._on_artifact = on_artifact
        self._outer = outer
        self._clock = clock
        self._keys = keys
        # That of a name is found now: it may have marks, and its other holders may let it go.
        if flow is None and identity.session is not None:
            flow = services.flows.of(identity)
        self._flow = flow
        self._deadline = 0.0

    @property
    def was_called(self) -> bool:
        """Whether there was a call, which made the parts that calls need."""
        return "meter" in self.__dict__

    @property
    def calls_made(self) -> int:
        """How many calls there were, refused ones included."""
        return self.meter.calls if self.was_called else 0

    @functools.cached_property
    def caller(self) -> dict[str, Any]:
        """Part of the context of every provider call, and with `degraded` of every record."""
        return self.identity.who(self.grant.execution_id)

    @functools.cached_property
    def who(self) -> dict[str, Any]:
        """What every record of the execution has."""
        via, degraded = self.identity.via, self._degraded
        return {**self.caller, "via": via, "degraded": degraded, **self._span.ids}

    @functools.cached_property
    def flow(self) -> FlowState:
        """What the channel was answered."""
        return self._services.flows.of(self.identity) if self._flow is None else self._flow

    @functools.cached_property
    def _by_key(self) -> IdempotencyCache:
        return IdempotencyCache() if self._keys is None else self._keys

    @functools.cached_property
    def meter(self) -> UsageMeter:
        """What the calls used."""
        return UsageMeter(
            self.grant,
            self.identity.principal,
            self._services.rates,
            self._by_key,
            self._clock,
            self.audit.redactor,
            None if self._outer is None else self._outer.meter,
            self._deadline,
        )

    @functools.cached_property
    def telemetry(self) -> CallTelemetry:
        """Counts the calls."""
        metrics, redactor = self._services.metrics, self.audit.redactor
        return CallTelemetry(metrics, self._span, self.grant.terms, redactor)

    @functools.cached_property
    def artifacts(self) -> ArtifactStore:
        """What the calls hand out."""
        around = None if self._outer is None else self._outer.artifacts
        return ArtifactStore(self.grant.limits, self.grant.policy_id, self._on_artifact, around)

    @functools.cached_property
    def evidence(self) -> CallEvidence:
        """The records of the calls."""
        metrics, redactor = self._services.metrics, self.audit.redactor
        return CallEvidence(redactor, metrics, self.who, self._on_decision, self.artifacts)

    @functools.cached_property
    def _in_flight(self) -> CallsInFlight:
        return CallsInFlight()

    @property
    def has_listener(self) -> bool:
        """Whether somebody is notified of each decision."""
        return self._on_decision is not None

    @property
    def decisions(self) -> tuple[DecisionSummary, ...]:
        """All decisions so far."""
        return tuple(self.evidence.decisions) if "evidence" in self.__dict__ else ()

    @property
    def handed_out(self) -> tuple[Artifact, ...]:
        """All artifacts so far."""
        return tuple(self.artifacts.artifacts) if "artifacts" in self.__dict__ else ()
