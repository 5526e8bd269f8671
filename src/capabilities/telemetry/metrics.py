"""(8) The Prometheus metrics for operators, with units in their names.

Labels have low cardinality: each takes its values from a closed set (statuses, reason codes,
layers) or from what the operator registered (capabilities, policies). Nothing that a worker sends
becomes a label: a name that is not registered is `(unregistered)`, and an unknown code is
`(other)`.

All runtimes with the same registry share one `Metrics` and count together.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from caps.capabilities.telemetry.counters import (
    ByName,
    Counter,
    Gauge,
    GroupCounter,
    Histogram,
    JointQueue,
    Metric,
)
from caps.protocol.enforcement import Layer
from caps.protocol.version import package_version
from caps.security.audit.model.records import CallStatus, ExecutionStatus
from caps.security.reasons import ReasonCode
from caps.worker.host.pool.admission import WaitReason

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

_ALLOWED: Final = ReasonCode.ALLOWED.value
_OK: Final = CallStatus.OK.value
UNREGISTERED: Final = "(unregistered)"
OTHER: Final = "(other)"

# The limits at which the host kills the worker; the others of a policy refuse single calls.
_LIMITS: Final = frozenset({"wall_ms", "cpu_ms", "memory_mb", "output_bytes", "session_wall_ms"})
_VIOLATIONS: Final = frozenset(
    "contradiction failed_before flood forbidden_system_call forged_id frame_too_large garbage "
    "malformed not_json_like out_of_turn replayed_request too_deep too_many_in_flight "
    "too_many_items truncated_frame unasked_answer unknown_stream version".split()
)


_CALL_SECONDS: Final = (
    *(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05),
    *(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
)
_EXECUTION_SECONDS: Final = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0),
)
_START_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)
_APPEND_SECONDS: Final = (
    *(0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005),
    *(0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0),
)


class Metrics:
    """The metrics of one registry. `Metrics.of(registry)` returns the existing ones, if any."""

    def __init__(self, registry: CollectorRegistry | None) -> None:
        """Without a registry they are counted anyway, but not exported."""
        self._add_executions()
        self._add_calls()
        self._add_workers()
        self._add_evidence()
        self._add_policies()
        self._begin_at_zero()
        self.allowed_calls = JointQueue(
            ByName(self._count_allowed), self.requests, self.request_seconds, self.result_bytes
        )
        self.appends = JointQueue(
            ByName(self._count_appends), self.audit_records, self.audit_seconds
        )
        self._ended = JointQueue(
            ByName(self._count_ended),
            *(self.executions, self.execution_seconds),
            *(self.output_bytes, self.execution_cpu_seconds),
        )
        if registry is not None:
            self._register(registry)

    def _register(self, registry: CollectorRegistry) -> None:
        from caps.capabilities.telemetry.prometheus import register_with_prometheus

        build = Gauge("caps_build_info", "The release of Caps, as a label.", ["version"])
        build.set((package_version(),), 1)
        register_with_prometheus(
            [build, *(one for one in vars(self).values() if isinstance(one, Metric))], registry
        )
        _by_registry[registry] = self

    @classmethod
    def of(cls, registry: CollectorRegistry) -> Metrics:
        """The metrics of `registry`, created on first use."""
        found = _by_registry.get(registry)
        return cls(registry) if found is None else found

    def _count_allowed(self, label: str, samples: list[tuple[str, int, float, int]]) -> None:
        """Calls of a capability that gave results: how many, their time each, their bytes."""
        _, calls, took, sizes = zip(*samples, strict=True)
        self.requests.count((label, "allow", _ALLOWED, _OK), sum(calls))
        if any(sizes):
            self.result_bytes.count((label,), sum(sizes))
        if max(calls) == 1:
            self.request_seconds.count_all((label,), took)
        else:
            for times, seconds in zip(calls, took, strict=True):
                self.request_seconds.count((label,), seconds, times)

    def _count_appends(self, kind: str, samples: list[tuple[str, int, float]]) -> None:
        """Records of one kind that were appended together: how many, and how long that took."""
        _, records, took = zip(*samples, strict=True)
        self.audit_records.count((kind,), sum(records))
        self.audit_seconds.count_all((), took)

    def _count_ended(self, status: str, samples: list[tuple[str, float, int, int | None]]) -> None:
        """Executions that ended alike: after how long, with how much output and CPU time."""
        _, seconds, sizes, cpu_us = zip(*samples, strict=True)
        self.executions.count((status,), len(samples))
        self.execution_seconds.count_all((), seconds)
        if any(sizes):
            self.output_bytes.count((), sum(sizes))
        if any(cpu_us):
            self.execution_cpu_seconds.count((), sum(filter(None, cpu_us)) / 1_000_000)

    def _add_executions(self) -> None:
        self.executions = Counter("caps_executions", "Executions by how they ended.", ["status"])
        self.execution_seconds = Histogram(
            "caps_execution_duration_seconds",
            "From start to result of an execution.",
            [],
            buckets=_EXECUTION_SECONDS,
        )
        self.executions_in_flight = Gauge("caps_executions_in_flight", "Executions in flight.")
        self.execution_cpu_seconds = Counter(
            "caps_execution_cpu_seconds", "CPU time that the code of executions used.", []
        )
        self.output_bytes = Counter("caps_execution_output_bytes", "Bytes that executions printed.")
        self.limits = Counter(
            "caps_limits_reached",
            "Executions that were killed at a limit, by the limit.",
            ["limit"],
        )
        self.violations = Counter(
            "caps_protocol_violations",
            "Executions that were killed for what their worker sent or did.",
            ["violation"],
        )

    def _add_calls(self) -> None:
        self.injected = GroupCounter(
            "capability_injected", "Capabilities granted to an execution.", ["capability"]
        )
        self.denied = Counter(
            "policy_denied", "Requests that the policy refused.", ["capability", "reason"]
        )
        self.requests = Counter(
            "caps_capability_requests",
            "Capability requests by what was decided, why, and how they ended.",
            ["capability", "decision", "reason_code", "status"],
        )
        self.request_seconds = Histogram(
            "caps_capability_request_duration_seconds",
            "From the arrival of a request to its answer.",
            ["capability"],
            buckets=_CALL_SECONDS,
        )
        self.requests_in_flight = Gauge(
            "caps_capability_requests_in_flight", "Capability requests that wait for their answer."
        )
        self.result_bytes = Counter(
            "caps_capability_result_bytes",
            "Bytes of the results that capabilities gave.",
            ["capability"],
        )

    def _add_workers(self) -> None:
        self.workers_alive = Gauge("caps_workers_alive", "Live workers.")
        self.spares_ready = Gauge("caps_spare_workers_ready", "Workers that wait for code.")
        self.spares_wanted = Gauge(
            "caps_spare_workers_wanted", "Workers that should wait for code."
        )
        self.spares_exhausted = Counter(
            "caps_spare_workers_exhausted",
            "Starts that found no spare worker and waited for a new one.",
        )
        self.worker_start_seconds = Histogram(
            "caps_worker_start_duration_seconds",
            "From the order of a worker until it waits for code.",
            [],
            buckets=_START_SECONDS,
        )
        self.workers_awaited = Gauge(
            "caps_workers_awaited",
            "Executions and sessions that wait for a worker, by what they wait for.",
            ["waiting_for"],
        )
        self.worker_waits_refused = Counter(
            "caps_worker_waits_refused",
            "Executions and sessions that waited too long for a worker and did not run.",
            ["waiting_for"],
        )
        self.zygote_starts = Counter("caps_zygote_starts", "Zygotes that were started.")
        self.zygote_restarts = Counter(
            "caps_zygote_restarts", "Zygotes that replaced one that exited."
        )
        self.isolation_layers = Gauge(
            "caps_isolation_layers",
            "Open runtimes by how much of each isolation layer is in force.",
            ["layer", "enforcement"],
        )

    def _add_evidence(self) -> None:
        self.audit_seconds = Histogram(
            "caps_audit_append_duration_seconds",
            "From handing in a record until it is safe, or known not to be.",
            [],
            buckets=_APPEND_SECONDS,
        )
        self.audit_records = Counter("caps_audit_records", "Audit records written.", ["kind"])
        self.audit_failures = Counter(
            "caps_audit_failures", "Audit records that could not be written."
        )
        # The operator names the sinks and has few of them, so the cardinality is low.
        self.audit_sink_up = Gauge(
            "caps_audit_sink_up", "1 if an audit sink takes records, 0 if it does not.", ["sink"]
        )
        self.audit_sink_dropped = Counter(
            "caps_audit_sink_dropped_records",
            "Records that a best-effort audit sink did not get.",
            ["sink"],
        )

    def _add_policies(self) -> None:
        self.policy_info = Gauge(
            "caps_policy_info",
            "The policies in force, each with the number of runtimes that it is in force for.",
            ["policy_id", "policy_sha256"],
        )
        self.policy_reloads = Counter(
            "caps_policy_reloads",
            "Changes of a watched policy, by what became of them.",
            ["outcome"],
        )
        self.policy_loads = Counter(
            "caps_policy_loads", "Policies that were read, by what became of them.", ["outcome"]
        )
        self.dry_run_denied = Counter(
            "caps_policy_dry_run_denied",
            "Allowed requests that a deny rule in dry run would have refused.",
            ["capability"],
        )
        self.revoked = Counter(
            "caps_grants_revoked",
            "Capabilities taken back from a running execution or session.",
            ["capability"],
        )
        self.approvals = Counter(
            "caps_approvals",
            "Approvals that were asked for, by how the waiting ended.",
            ["capability", "outcome"],
        )
        self.approvals_waiting = Gauge("caps_approvals_waiting", "Calls that wait for an approval.")

    def _begin_at_zero(self) -> None:
        """Samples for alerts exist from the start, so that the first increase is from zero."""
        for metric, values in (
            (self.executions, [status.value for status in ExecutionStatus]),
            (self.limits, sorted(_LIMITS)),
            (self.violations, sorted(_VIOLATIONS)),
            (self.worker_waits_refused, [reason.value for reason in WaitReason]),
            (self.policy_loads, ["accepted", "refused"]),
            (self.policy_reloads, ["accepted", "refused", "failed"]),
        ):
            for value in values:
                metric.begin((value,))

    def count_injected(self, granted: Sequence[str]) -> None:
        """Count one more execution with these grants."""
        self.injected.add_group(granted)

    def execution_started(self) -> None:
        """One more execution is in flight; `execution_ended` must follow."""
        self.executions_in_flight.add(1)

    def execution_ended(
        self, status: ExecutionStatus, seconds: float, output_bytes: int, cpu_us: int | None
    ) -> None:
        """One execution has ended; `cpu_us` is what its code used, if it was measured."""
        self.executions_in_flight.add(-1)
        self._ended.put((status.value, seconds, output_bytes, cpu_us))

    def count_layers(self, layers: Iterable[Layer], change: int) -> None:
        """Count one open runtime more or less with these layers."""
        for layer in layers:
            self.isolation_layers.add_holder((layer.name, layer.enforcement.value), change)

    def count_policy(self, policy_id: str, policy_sha256: str, change: int) -> None:
        """Count one runtime more or less with this policy; a policy of none has no sample."""
        self.policy_info.add_holder((policy_id, policy_sha256), change)

    def zygote_started(self, again: bool) -> None:
        """A zygote was started; `again`: it replaces one that exited."""
        self.zygote_starts.add(())
        if again:
            self.zygote_restarts.add(())

    def limit_reached(self, limit: str) -> None:
        """An execution was killed at a limit."""
        self.limits.add((limit if limit in _LIMITS else OTHER,))

    def protocol_violated(self, violation: str) -> None:
        """An execution was killed for what its worker did."""
        self.violations.add((violation if violation in _VIOLATIONS else OTHER,))


# Metrics have no reference to their registry, so that an unused registry is freed with them.
_by_registry: weakref.WeakKeyDictionary[CollectorRegistry, Metrics] = weakref.WeakKeyDictionary()


def default_metrics() -> Metrics:
    """The process's own metrics, in the global registry."""
    from prometheus_client import REGISTRY

    return Metrics.of(REGISTRY)
