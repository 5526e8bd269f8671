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
from caps.capabilities.broker.invoke import CallsInFlight
from caps.capabilities.broker.services import BrokerServices
from caps.capabilities.grant import Grant
from caps.capabilities.identity import Identity
from caps.capabilities.telemetry.calls import CallTelemetry
from caps.capabilities.telemetry.tracing import ExecutionSpan

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
