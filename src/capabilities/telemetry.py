"""(8) Metrics and spans. Labels are low in cardinality: nothing from a worker becomes a label.

Metrics live in a `prometheus_client` registry, the global one unless another is given. Spans go
through the OpenTelemetry API; without a configured provider they cost next to nothing.
"""

from __future__ import annotations

import functools
from collections import Counter as Tally
from typing import Any, TypeVar

from opentelemetry.trace import Tracer, TracerProvider, get_tracer
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

_Child = TypeVar("_Child", Counter, Histogram)

UNREGISTERED = "(unregistered)"

_SECONDS = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0)


class Metrics:
    """What an operator watches."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._runtimes: Tally[tuple[str, str]] = Tally()
        self._children: dict[tuple[Any, ...], Any] = {}
        self.injected = Counter(
            "capability_injected",
            "Capabilities granted to an execution.",
            ["capability"],
            registry=registry,
        )
        self.denied = Counter(
            "policy_denied",
            "Requests that the policy refused.",
            ["capability", "reason"],
            registry=registry,
        )
        self.requests = Counter(
            "caps_capability_requests",
            "Capability requests by how they ended.",
            ["capability", "outcome"],
            registry=registry,
        )
        self.request_seconds = Histogram(
            "caps_capability_request_duration_seconds",
            "From the arrival of a request to its answer.",
            ["capability"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.executions = Counter(
            "caps_executions", "Executions by how they ended.", ["outcome"], registry=registry
        )
        self.execution_seconds = Histogram(
            "caps_execution_duration_seconds",
            "From start to result of an execution.",
            buckets=_SECONDS,
            registry=registry,
        )
        self.dry_run_denied = Counter(
            "caps_policy_dry_run_denied",
            "Allowed requests that a deny rule in dry run would have refused.",
            ["capability"],
            registry=registry,
        )
        self.revoked = Counter(
            "caps_grants_revoked",
            "Capabilities taken back from a running execution or session.",
            ["capability"],
            registry=registry,
        )
        self.approvals = Counter(
            "caps_approvals",
            "Approvals that were asked for, by how the waiting ended.",
            ["capability", "outcome"],
            registry=registry,
        )
        self.approvals_waiting = Gauge(
            "caps_approvals_waiting", "Calls that wait for an approval.", registry=registry
        )
        self.policy_reloads = Counter(
            "caps_policy_reloads",
            "Changes of a watched policy, by what became of them.",
            ["outcome"],
            registry=registry,
        )
        self.policy_info = Gauge(
            "caps_policy_info",
            "The policies in force, each with the number of runtimes that it is in force for.",
            ["policy_id", "policy_sha256"],
            registry=registry,
        )
        self.workers_alive = Gauge("caps_workers_alive", "Live workers.", registry=registry)

    def child(self, metric: _Child, *labels: str) -> _Child:
        """`metric.labels(...)`, remembered: the library takes a lock and copies every time."""
        key = (metric, *labels)
        found: _Child | None = self._children.get(key)
        if found is None:
            found = self._children[key] = metric.labels(*labels)
        return found

    def count_policy(self, policy_id: str, policy_sha256: str, change: int) -> None:
        """One runtime more or less has this policy; in force for none, it has no sample."""
        labels = (policy_id, policy_sha256)
        self._runtimes[labels] += change
        if self._runtimes[labels]:
            self.policy_info.labels(*labels).set(self._runtimes[labels])
        else:
            del self._runtimes[labels]
            self.policy_info.remove(*labels)


@functools.cache
def default_metrics() -> Metrics:
    """The process's own metrics, in the global registry."""
    return Metrics(REGISTRY)


def tracer_from(provider: TracerProvider | None) -> Tracer:
    """The tracer of Caps, from the given provider or the global one."""
    return get_tracer("caps", tracer_provider=provider)
