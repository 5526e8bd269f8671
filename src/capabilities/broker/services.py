"""(6) What the brokers of all executions of one runtime share."""

from __future__ import annotations

from dataclasses import dataclass, field

from caps.capabilities.broker.approvals import ApprovalQueue
from caps.capabilities.broker.flow import SessionFlows
from caps.capabilities.broker.idempotency import CallerKeys
from caps.capabilities.broker.nested import HostServices, NoHost
from caps.capabilities.broker.rate_windows import SlidingWindows
from caps.capabilities.broker.revocation import ActiveGrants
from caps.capabilities.telemetry import Metrics, Tracing
from caps.security.audit.log.interface import AuditSink


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerServices:
    """What all executions share."""

    audit: AuditSink
    metrics: Metrics
    tracing: Tracing
    default_timeout_ms: int
    approvals: ApprovalQueue
    host: HostServices = field(default_factory=NoHost)
    rates: SlidingWindows = field(default_factory=SlidingWindows)
    live: ActiveGrants = field(default_factory=ActiveGrants)
    flows: SessionFlows = field(default_factory=SessionFlows)
    caller_keys: CallerKeys = field(default_factory=CallerKeys)
